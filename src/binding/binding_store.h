// SPDX-License-Identifier: Apache-2.0
// The binding records of late grants: the first binding of each, one file each below the state
// directory. A file is written once, and again only if a container that starts again gets other
// units of compute time. The files are the shared state: instances of the agent, and several
// objects of this class, have them in common. Any thread; waits for disks.
#pragma once

#include <algorithm>
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
  std::string pod_uid;  // as kubelet knows it; in old records NAMESPACE/NAME
  std::string container;
  std::string directory;  // on the host; the container writes in it
  std::vector<Fraction> parts;
  bool controlled = true;  // the library is loaded
  // The library that the container loads, on the host. Later containers of the pod share its
  // region, so they use this version. Empty: recorded by an agent that did not know it.
  std::string library = {};
  // The placement of all containers of the pod, if it was decided for the pod as a whole.
  PodPlacement placement = {};
  bool fitted = false;                // no scheduler chose the placement: it was fitted in
  std::string gate = {};              // GateOf, on the host; empty: no gate
  std::vector<std::string> ids = {};  // share ids, natural order; empty in old records
  bool operator==(const BindingRecord&) const = default;

  // A part has units of compute time.
  bool HasUnits() const {
    return std::ranges::any_of(parts, [](const Fraction& part) { return !part.units.empty(); });
  }
};
using BindingRecordPtr = std::shared_ptr<const BindingRecord>;
std::string BindingRecordText(const BindingRecord& record);
// kStateCorrupt if the text is no record.
Result<BindingRecord> ReadBindingRecord(std::string_view text);

// Whether the record's directory belongs to this grant's container alone.
bool IsOwnDirectory(const BindingRecord& record, const std::string& name);

// A new name of a grant: 128 bits of the kernel's random numbers, in hexadecimal digits.
std::string NewGrantName();
// Whether Allocate can have made this name. Such a name is safe in a path.
bool IsGrantName(std::string_view name);

class BindingStore {
 public:
  explicit BindingStore(const std::string& state_dir) : directory_(state_dir + "/grants") {}

  using Names = std::set<std::string>;

  // The grant's record; null: it was never bound. An error if that is unknown. `written`: the names
  // on disk, listed under the lock. Names missing there were never bound, and records with units
  // are read again.
  Result<BindingRecordPtr> Find(const std::string& grant, const Names* written = nullptr);
  // The lock for deciding and adding. One instance of the agent holds it at a time. kStateLocked
  // after a second.
  Result<os::FileLock> Lock();
  // A record that is written to disk, but not yet in its place.
  struct StagedRecord {
    std::string grant;
    BindingRecordPtr record;
    os::PreparedFile file;
  };
  // Writes a record. The caller holds the lock, or works for the thread that does.
  Result<StagedRecord> StageRecord(const std::string& grant, const BindingRecordPtr& record) const;
  // Puts the records in their places, and syncs the directory. Returns a status for each.
  std::vector<Status> Add(std::span<StagedRecord> records);
  void Remove(const std::string& grant);
  // The names of all records on disk.
  Result<Names> Grants() const;
  // The records that this process has found or added, by grant. From memory.
  using Known = std::vector<std::pair<std::string, BindingRecordPtr>>;
  Known known() const;
  // Whether one of them is of this pod.
  bool HasGrant(std::string_view pod_uid) const;
  // Whether another grant has the same container directory.
  bool IsShared(const std::string& directory, const std::string& grant);
  // Whether any record may exist.
  bool any() const { return os::Exists(directory_); }

 private:
  std::string PathOf(const std::string& grant) const;

  const std::string directory_;
  mutable Mutex mutex_;
  std::unordered_map<std::string, BindingRecordPtr> known_ TESSERA_GUARDED_BY(mutex_);  // by grant
};

}  // namespace tessera
