// SPDX-License-Identifier: Apache-2.0
#include "scheduler/node_locks.h"

#include <utility>

#include "base/log.h"
#include "hami/names.h"
#include "kube/metadata_patch.h"
#include "kube/objects/metadata.h"

namespace tessera::scheduler {
namespace {

const std::string kLock(hami::kNodeLock);
// The retry interval, in case the watch misses the removal.
constexpr Duration kPause{1'000};

std::string LockIn(const kube::Metadata& node) {
  const auto value = node.annotations.find(kLock);
  return value == node.annotations.end() ? "" : value->second;
}

json::Value LockPatch(const std::optional<std::string>& value, const std::string& version) {
  kube::MetadataPatch patch;
  patch.annotations[kLock] = value;
  patch.resource_version = version;
  return patch.Json();
}

}  // namespace

NodeLocks::NodeLocks(os::Loop& loop, const Clock& clock, kube::Client& client,
                     NodeLockLimits limits, MayLock may_lock)
    : loop_(loop),
      clock_(clock),
      client_(client),
      limits_(limits),
      may_lock_(std::move(may_lock)) {}
NodeLocks::~NodeLocks() = default;

void NodeLocks::Take(const std::string& node, const hami::LockOwner& owner, Done done) {
  auto& queue = queues_[node];
  if (queue == nullptr) queue = std::make_unique<Queue>(loop_, [this, node] { Look(node); });
  queue->waiting.push_back({owner, clock_.Now() + limits_.patience, std::move(done)});
  if (queue->waiting.size() == 1) Look(node);
}

void NodeLocks::NodeSeen(const std::string& node, bool locked) {
  const auto queue = queues_.find(node);
  if (queue != queues_.end() && !locked) queue->second->again.RingWithin(Duration(0));
}

void NodeLocks::Look(const std::string& node) {
  Queue& queue = *queues_.at(node);
  if (queue.busy || queue.waiting.empty()) return;
  queue.busy = true;
  client_.Get(kube::NodePath(node), kube::NodeForm(),
              [this, node](const Result<json::Value>& object) {
                if (!object) return End(node, Fail(object.error()));
                Judge(node, *object);
              });
}

void NodeLocks::Judge(const std::string& node, const json::Value& object) {
  const kube::Metadata metadata = kube::MetadataOf(object);
  const std::string value = LockIn(metadata);
  // A former leader's lock for the same pod is overwritten: the former leader then cannot remove
  // it, since it removes only its own.
  if (value.empty() || hami::IsLockOf(value, queues_.at(node)->waiting.front().owner)) {
    return Write(node, metadata.resource_version);
  }
  const auto lock = hami::ReadNodeLock(value);
  if (!lock) {
    return End(node, Fail(Reason::kInvalid, "node {}: {}: remove the annotation", node,
                          lock.error().message));
  }
  if (lock->IsExpired(clock_.WallNow(), limits_.timeout)) {
    return Write(node, metadata.resource_version);
  }
  if (!lock->owner) return Wait(node, "by a scheduler that names no pod");
  JudgeOwner(node, *lock->owner, metadata.resource_version);
}

// As in HAMi, a lock is free if its pod is gone, has ended, or is bound to another node.
void NodeLocks::JudgeOwner(const std::string& node, const hami::LockOwner& owner,
                           const std::string& version) {
  const std::string name = owner.pod_namespace + "/" + owner.pod;
  client_.Get(kube::PodPath(owner.pod_namespace, owner.pod), kube::PodForm({}),
              [this, node, name, version](const Result<json::Value>& found) {
                if (!found && found.error().reason == Reason::kNotFound) {
                  return Write(node, version);
                }
                if (!found) return End(node, Fail(found.error()));
                const auto pod = kube::ReadPod(*found, {});
                if (!pod) return End(node, Fail(pod.error()));
                const bool elsewhere = !pod->node.empty() && pod->node != node;
                if (pod->HasEnded() || elsewhere) return Write(node, version);
                Wait(node, "for pod " + name + ", whose devices are not granted yet");
              });
}

// The patch names the version that was read. If two schedulers race for the lock, one gets a
// conflict.
void NodeLocks::Write(const std::string& node, const std::string& version) {
  if (const Status may = may_lock_ ? may_lock_() : Status(); !may) return End(node, may);
  const hami::NodeLock lock{.time = clock_.WallNow(),
                            .owner = queues_.at(node)->waiting.front().owner};
  const std::string& value = written_[node] = hami::WriteNodeLock(lock);
  client_.Patch(kube::PatchType::kMerge, kube::NodePath(node), LockPatch(value, version),
                kube::NodeForm(), [this, node](const Result<json::Value>& written) {
                  WriteEnded(node, written ? Status() : Fail(written.error()));
                });
}

void NodeLocks::WriteEnded(const std::string& node, const Status& written) {
  if (written || written.error().reason != Reason::kApiConflict) return End(node, written);
  // Kubelet and others update the node constantly, so a version conflict is common. Read it again.
  Wait(node, "or changed by others at each try");
  NodeSeen(node, false);
}

void NodeLocks::Wait(const std::string& node, const std::string& why) {
  Queue& queue = *queues_.at(node);
  const Duration left = queue.waiting.front().deadline - clock_.Now();
  if (left <= Duration(0)) {
    return End(node, Fail(Reason::kUnavailable, "node {} is locked {}", node, why));
  }
  queue.busy = false;
  queue.again.RingWithin(std::min(left, kPause));
}

void NodeLocks::End(const std::string& node, const Status& result) {
  Queue& queue = *queues_.at(node);
  queue.busy = false;
  const Waiter waiter = std::move(queue.waiting.front());
  queue.waiting.pop_front();
  if (queue.waiting.empty()) {
    queues_.erase(node);
  } else {
    // After a success, the next waiter waits until the plugin removes this lock.
    queue.again.RingWithin(result ? kPause : Duration(0));
  }
  waiter.done(result);
}

void NodeLocks::Release(const std::string& node, const hami::LockOwner& owner) {
  client_.Get(
      kube::NodePath(node), kube::NodeForm(),
      [this, node, owner](const Result<json::Value>& object) {
        const auto failed = [node](const Error& error) {
          log::Warn("cannot unlock a node after a failed binding: the lock stays until it expires",
                    error, {{"node", node}});
        };
        if (!object) return failed(object.error());
        const kube::Metadata metadata = kube::MetadataOf(*object);
        const std::string value = LockIn(metadata);
        if (!hami::IsLockOf(value, owner) || value != written_[node]) return;
        client_.Patch(kube::PatchType::kMerge, kube::NodePath(node),
                      LockPatch(std::nullopt, metadata.resource_version), kube::NodeForm(),
                      [this, node, owner, failed](const Result<json::Value>& written) {
                        if (written) return NodeSeen(node, false);
                        if (written.error().reason == Reason::kApiConflict) {
                          return Release(node, owner);
                        }
                        failed(written.error());
                      });
      });
}

}  // namespace tessera::scheduler
