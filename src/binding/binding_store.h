// SPDX-License-Identifier: Apache-2.0
// What late grants were bound to at first, a file each below the state directory. Instances of the
// agent share them: each file is written once. Any thread.
#pragma once

#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "grant/fraction.h"
#include "os/files.h"
#include "os/lock.h"
#include "placement/placement.h"

namespace tessera {

struct BindingRecord {
  std::string resource;
  std::string pod_uid;  // as kubelet knows it; NAMESPACE/NAME of one that was known by that alone
  std::string container;
  std::string directory;  // that its container writes in, on the host
  std::vector<Fraction> parts;
  bool controlled = true;  // by the library
  // That it loads, on the host: what it shares with its pod's later containers is of this version.
  // Empty: of an agent that did not record it.
  std::string library = {};
  // Of all the pod's containers, where that was decided for the pod as a whole.
  PodPlacement placement = {};
  bool fitted = false;                // that is what they ask for: no scheduler has chosen it
  std::string gate = {};              // GateOf, on the host; empty: it has none
  std::vector<std::string> ids = {};  // natural order; empty: of an agent that did not record them
  bool operator==(const BindingRecord&) const = default;
};
using BindingRecordPtr = std::shared_ptr<const BindingRecord>;
std::string BindingRecordText(const BindingRecord& record);
// kStateCorrupt when it is none.
Result<BindingRecord> ReadBindingRecord(std::string_view text);

// Whether the directory is one that was made for the container of the grant of this name alone.
bool IsOwnDirectory(const BindingRecord& record, const std::string& name);

// The name of a new grant: 128 bits of the kernel's random numbers, in hexadecimal digits.
std::string NewGrantName();
// What Allocate calls a grant, and nothing that leads anywhere else.
bool IsGrantName(std::string_view name);

class BindingStore {
 public:
  explicit BindingStore(const std::string& state_dir) : directory_(state_dir + "/grants") {}

  using Names = std::set<std::string>;

  // Null where the grant was never bound; an error where that is not known. `written`: those that
  // are there, where that was looked up since the lock was taken; the others were never bound.
  Result<BindingRecordPtr> Find(const std::string& grant, const Names* written = nullptr);
  // Held by one instance of the agent at a time, by who adds to what he has seen there.
  // kStateLocked after a second.
  Result<os::FileLock> Lock();
  // A record that is on the disk, and not yet found there.
  struct StagedRecord {
    std::string grant;
    BindingRecordPtr record;
    os::PreparedFile file;
  };
  // By who has the lock, or is waited for by him.
  Result<StagedRecord> StageRecord(const std::string& grant, const BindingRecordPtr& record) const;
  // Are found, and are on the disk when it returns, but for those that it says why they are not.
  std::vector<Status> Add(std::span<StagedRecord> records);
  void Remove(const std::string& grant);
  // Of all that are there, with and without a pod.
  Result<Names> Grants() const;
  // Those that this process has found or added, by grant: from memory.
  using Known = std::vector<std::pair<std::string, BindingRecordPtr>>;
  Known known() const;
  // Whether another grant's container writes in the same directory.
  bool IsShared(const std::string& directory, const std::string& grant);
  // Whether there may be any.
  bool any() const { return os::Exists(directory_); }

 private:
  std::string PathOf(const std::string& grant) const;

  const std::string directory_;
  mutable Mutex mutex_;
  std::unordered_map<std::string, BindingRecordPtr> known_ TESSERA_GUARDED_BY(mutex_);  // by grant
};

}  // namespace tessera
