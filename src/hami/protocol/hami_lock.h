// SPDX-License-Identifier: Apache-2.0
// Releases HAMi's node lock (hami/node_lock.h), which delays the next pod. Late grants follow
// kubelet's word for each container, so the lock is not needed once its owner is bound to this
// node. A lock is also released if its owner has ended, is gone, or is bound to another node. Only
// the API server's answer for that pod's name counts as proof.
//
// The release races with a scheduler that takes the lock again. So each patch names the node's
// version at the read, and fails if the node has changed. A lock without a pod's name is left to
// HAMi.
//
// Owned by HamiProtocol. One thread: the loop's. The client outlives it, and uses the same loop.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/backoff.h"
#include "hami/node_lock.h"
#include "json/json.h"
#include "kube/client.h"
#include "kube/node_keeper.h"
#include "kube/objects/pod.h"
#include "os/alarm.h"
#include "os/loop.h"

namespace tessera {

class HamiLock {
 public:
  struct Owners {
    // The owner, if it is known to be bound to this node; null: asks the API server.
    std::function<const kube::Pod*(const hami::LockOwner&)> bound_here;
    // True if another party still needs the lock of this pod, which is bound to this node.
    std::function<bool(const kube::Pod&)> needed;
    std::function<kube::PodFields()> fields;  // that `needed` reads
  };
  HamiLock(os::Loop& loop, kube::Client& client, std::string node, Owners owners,
           Backoff retries = kube::NodeKeeper::kRetries);

  // Checks the lock: its owner may not need it any more.
  void CheckLock();
  // The node, read for another purpose: checks a lock in it.
  void NodeSeen(const json::Value& node);
  // The node as a watch reports it. If the lock's owner is known to be bound here, the release
  // needs no read of the node, so the next pod waits less.
  void NodeChanged(const json::Value& node);

 private:
  // The lock in the watch's last report.
  struct WatchedLock {
    std::string lock;
    std::string version;  // of the node
  };

  void Read(const json::Value& node);
  bool NeedsIt(const kube::Pod& pod) const;
  void Judge(const kube::Pod& pod, const std::string& version);
  void Release(const hami::LockOwner& owner, const std::string& version);
  void ReleaseEnded(const Status& status);

  kube::Client& client_;
  const std::string node_;
  const std::string path_;
  const Owners owners_;
  std::optional<WatchedLock> told_;
  bool busy_ = false;
  bool asked_again_ = false;  // requested during a check
  int conflicts_ = 0;         // successive ones that were retried at once
  std::string odd_;           // the unreadable lock, once logged
  std::string refusal_;       // why the check fails, once logged
  Backoff retries_;
  os::Alarm again_;
};

}  // namespace tessera
