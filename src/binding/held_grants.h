// SPDX-License-Identifier: Apache-2.0
// Which container holds which late grant, by kubelet's checkpoint. Any thread; it waits for disks.
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

// What kubelet says that a container holds of a resource.
struct HeldGrant {
  std::string pod_uid;
  std::string container;
  std::string resource;
  std::vector<std::string> ids{};                // natural order
  std::string name{};                            // of its grant; empty: it has none
  std::optional<std::vector<Fraction>> parts{};  // that Allocate said it has
  bool asked = false;                            // or that it has what its pod asks for
  bool matched = false;                          // it was said whose it is (matched/)
  std::string prepared{};  // the name of its grant where devices are prepared for that
  Grant answer{};          // as kubelet keeps it; empty where it has no name

  // Whether what it is worth is said by its pod.
  bool by_request() const { return !parts || matched; }
};

// Whether it is NAMESPACE/NAME and no UID: of records by agents that knew a pod by that alone.
bool IsPodName(std::string_view pod);
// What is said of a container that has virtual GPUs of both resources.
tl::unexpected<Error> NotAlone(const std::string& container, const std::string& pod,
                               const std::string& resource, const std::string& other);

// By what a plugin answered for these ids.
HeldGrant HeldBy(std::string pod_uid, std::string container, std::string resource,
                 std::vector<std::string> ids, Grant answer);

// All of it at one time. Never changes; any thread.
class HeldGrants {
 public:
  using Matches = std::vector<const HeldGrant*>;

  explicit HeldGrants(const kubelet::Checkpoint& checkpoint);
  explicit HeldGrants(std::vector<HeldGrant> all);
  HeldGrants(const HeldGrants&) = delete;
  HeldGrants& operator=(const HeldGrants&) = delete;

  // As they were given.
  const std::vector<HeldGrant>& all() const { return all_; }
  // Of the resource with exactly these ids, in any order: an init container and another one may
  // both have them.
  const Matches& WithIds(const std::string& resource, const std::vector<std::string>& ids) const;
  const Matches& OfPod(const std::string& uid) const;

 private:
  const std::vector<HeldGrant> all_;
  std::map<std::string, Matches> by_ids_;  // by the resource and its ids
  std::map<std::string, Matches> by_pod_;
};
using HeldGrantsPtr = std::shared_ptr<const HeldGrants>;

// Whether the checkpoint was not read for its shape: a kubelet's that is newer than the agent.
bool IsOfUnknownShape(const Result<HeldGrantsPtr>& read);

// The checkpoint on the disk.
class CheckpointFile {
 public:
  explicit CheckpointFile(std::string path) : path_(std::move(path)) {}

  // As it is now. Read once for all that kubelet has admitted by then: of many containers at once
  // each would read it.
  Result<HeldGrantsPtr> Read();

 private:
  const std::string path_;
  Mutex mutex_;
  std::optional<os::FileInfo> read_ TESSERA_GUARDED_BY(mutex_);  // of what is in held_
  Result<HeldGrantsPtr> held_ TESSERA_GUARDED_BY(mutex_);  // or that it is of an unknown shape
};

}  // namespace tessera
