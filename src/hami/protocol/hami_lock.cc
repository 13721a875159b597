// SPDX-License-Identifier: Apache-2.0
#include "hami/protocol/hami_lock.h"

#include <utility>

#include "base/log.h"
#include "hami/names.h"
#include "kube/metadata_patch.h"
#include "kube/objects/metadata.h"

namespace tessera {
namespace {

const std::string kLock(hami::kNodeLock);

// Conflicts are frequent, because other clients write to the node all the time. The next pod waits
// for the lock, so these many are retried at once.
constexpr int kConflictsAtOnce = 3;

}  // namespace

HamiLock::HamiLock(os::Loop& loop, kube::Client& client, std::string node, Owners owners,
                   Backoff retries)
    : client_(client),
      node_(std::move(node)),
      path_(kube::NodePath(node_)),
      owners_(std::move(owners)),
      retries_(retries),
      again_(loop, [this] { CheckLock(); }) {}

void HamiLock::CheckLock() {
  asked_again_ = busy_;
  if (busy_) return;
  busy_ = true;
  // The watch's report is used once: after a conflict the node must be read. A stale report is safe
  // for a release, because the patch names its version. It proves nothing about a lock that should
  // stay.
  if (const auto told = std::exchange(told_, std::nullopt)) {
    const auto lock = hami::ReadNodeLock(told->lock);
    const kube::Pod* pod = lock && lock->owner ? owners_.bound_here(*lock->owner) : nullptr;
    if (pod != nullptr && !NeedsIt(*pod)) return Release(*lock->owner, told->version);
  }
  client_.Get(path_, kube::NodeForm(), [this](const Result<json::Value>& node) {
    if (!node) return ReleaseEnded(Fail(node.error()));
    Read(*node);
  });
}

void HamiLock::NodeSeen(const json::Value& node) {
  if (kube::MetadataOf(node).annotations.contains(kLock)) CheckLock();
}

void HamiLock::NodeChanged(const json::Value& node) {
  const kube::Metadata metadata = kube::MetadataOf(node);
  const auto value = metadata.annotations.find(kLock);
  told_.reset();
  if (value != metadata.annotations.end()) told_ = {value->second, metadata.resource_version};
}

void HamiLock::Read(const json::Value& node) {
  const kube::Metadata metadata = kube::MetadataOf(node);
  const auto value = metadata.annotations.find(kLock);
  if (value == metadata.annotations.end()) return ReleaseEnded({});
  const auto lock = hami::ReadNodeLock(value->second);
  if (!lock && odd_ != value->second) {
    odd_ = value->second;
    log::Warn(
        "HAMi's lock of the node has no readable owner: HAMi binds no pod to the node until you "
        "remove the annotation",
        lock.error());
  }
  if (!lock || !lock->owner) return ReleaseEnded({});
  const hami::LockOwner owner = *lock->owner;
  const std::string version = metadata.resource_version;
  if (const kube::Pod* pod = owners_.bound_here(owner)) return Judge(*pod, version);
  client_.Get(kube::PodPath(owner.pod_namespace, owner.pod), kube::PodForm(owners_.fields()),
              [this, owner, version](const Result<json::Value>& found) {
                if (!found && found.error().reason == Reason::kNotFound) {
                  return Release(owner, version);
                }
                if (!found) return ReleaseEnded(Fail(found.error()));
                const auto pod = kube::ReadPod(*found, owners_.fields());
                if (!pod) return ReleaseEnded(Fail(pod.error()));
                Judge(*pod, version);
              });
}

bool HamiLock::NeedsIt(const kube::Pod& pod) const {
  const bool unbound = pod.node.empty();
  const bool here = pod.node == node_;
  return !pod.HasEnded() && (unbound || (here && owners_.needed(pod)));
}

void HamiLock::Judge(const kube::Pod& pod, const std::string& version) {
  if (NeedsIt(pod)) return ReleaseEnded({});
  Release({pod.pod_namespace, pod.name}, version);
}

void HamiLock::Release(const hami::LockOwner& owner, const std::string& version) {
  kube::MetadataPatch patch;
  patch.annotations[kLock] = std::nullopt;
  patch.resource_version = version;
  client_.Patch(kube::PatchType::kMerge, path_, patch.Json(), kube::NodeForm(),
                [this, owner](const Result<json::Value>& written) {
                  if (!written) return ReleaseEnded(Fail(written.error()));
                  log::Debug("released HAMi's lock of the node",
                             {{"pod", owner.pod_namespace + "/" + owner.pod}});
                  ReleaseEnded({});
                });
}

void HamiLock::ReleaseEnded(const Status& status) {
  busy_ = false;
  if (!status) {
    // The node has changed since the read, and so may the lock. That is a failure only if it
    // repeats.
    const bool raced = status.error().reason == Reason::kApiConflict;
    if (raced && conflicts_ < kConflictsAtOnce) {
      ++conflicts_;
      return CheckLock();
    }
    conflicts_ = 0;
    if (status.error().message != refusal_) {
      refusal_ = status.error().message;
      log::Warn("cannot check HAMi's lock of the node", status.error());
    }
    return again_.RingWithin(client_.NextPause(retries_));
  }
  conflicts_ = 0;
  refusal_.clear();
  retries_.Succeeded();
  if (asked_again_) CheckLock();
}

}  // namespace tessera
