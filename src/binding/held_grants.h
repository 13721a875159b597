// SPDX-License-Identifier: Apache-2.0
// Which container holds which late grant, by kubelet's checkpoint. Any thread; waits for disks.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "grant/fraction.h"
#include "grant/grant.h"
#include "kubelet/checkpoint.h"
#include "os/files.h"

namespace tessera {

// What a container holds of one resource, by kubelet's checkpoint.
struct HeldGrant {
  std::string pod_uid;
  std::string container;
  std::string resource;
  std::vector<std::string> ids{};                // natural order
  std::string name{};                            // of its grant; empty: not a late grant
  std::optional<std::vector<Fraction>> parts{};  // what Allocate promised
  bool asked = false;                            // Allocate promised what its pod asks for
  bool matched = false;                          // Allocate named the container (src/matched)
  std::string prepared{};                        // the grant's name, if devices are prepared for it
  Grant answer{};  // Allocate's answer, as kubelet keeps it; empty without a name

  // Whether the pod says what the grant is worth.
  bool by_request() const { return !parts || matched; }
};

// Whether the text is NAMESPACE/NAME and no UID, as in records of old agents.
bool IsPodName(std::string_view pod);
// The error for a container with virtual GPUs of two resources.
tl::unexpected<Error> NotAlone(const std::string& container, const std::string& pod,
                               const std::string& resource, const std::string& other);

// The holding by a plugin's answer for these ids.
HeldGrant HeldBy(std::string pod_uid, std::string container, std::string resource,
                 std::vector<std::string> ids, Grant answer);

// All holdings at one state of the checkpoint. Immutable; any thread.
class HeldGrants {
 public:
  using Matches = std::vector<const HeldGrant*>;

  explicit HeldGrants(const kubelet::Checkpoint& checkpoint);
  explicit HeldGrants(std::vector<HeldGrant> all);
  HeldGrants(const HeldGrants&) = delete;
  HeldGrants& operator=(const HeldGrants&) = delete;

  // All, in the order of the checkpoint.
  const std::vector<HeldGrant>& all() const { return all_; }
  // The holdings of the resource with exactly these ids, in any order. An init container and
  // another container may both have them.
  const Matches& WithIds(const std::string& resource, const std::vector<std::string>& ids) const;
  const Matches& OfPod(const std::string& uid) const;

 private:
  const std::vector<HeldGrant> all_;
  std::map<std::string, Matches> by_ids_;  // by resource and ids
  std::map<std::string, Matches> by_pod_;
};
using HeldGrantsPtr = std::shared_ptr<const HeldGrants>;

// Whether the checkpoint has an unknown shape, because kubelet is newer than the agent.
bool IsOfUnknownShape(const Result<HeldGrantsPtr>& read);

// kubelet's checkpoint on disk. Any thread.
class CheckpointFile {
 public:
  explicit CheckpointFile(std::string path) : path_(std::move(path)) {}

  // Reads it, or returns the last result if the file is unchanged: many containers that start at
  // once cause one read.
  Result<HeldGrantsPtr> Read();

 private:
  const std::string path_;
  Mutex mutex_;
  std::optional<os::FileInfo> read_ TESSERA_GUARDED_BY(mutex_);  // the file that held_ is from
  Result<HeldGrantsPtr> held_ TESSERA_GUARDED_BY(mutex_);        // or the error of an unknown shape
};

}  // namespace tessera
