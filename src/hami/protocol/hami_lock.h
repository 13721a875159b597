// SPDX-License-Identifier: Apache-2.0
// Lets go of HAMi's lock of the node (hami/node_lock.h), which holds up the next pod: grants are
// bound late here, by what kubelet says of each container, so that nothing needs it once its owner
// is bound to this node. So goes one whose owner has ended, is gone, or went elsewhere, which is
// what the API server says of that pod by its name and nothing less. A lock is taken away only as
// it was read: one that was taken meanwhile is another. What names no pod is HAMi's own to end.
//
// One thread: its loop's, as the client's, which outlives it.
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
    // The pod where it is known to be bound to this node; null: the API server is asked.
    std::function<const kube::Pod*(const hami::LockOwner&)> bound_here;
    // Of a pod that is bound to this node: whether somebody else still needs its lock.
    std::function<bool(const kube::Pod&)> needed;
    std::function<kube::PodFields()> fields;  // that `needed` looks at
  };
  HamiLock(os::Loop& loop, kube::Client& client, std::string node, Owners owners,
           Backoff retries = kube::NodeKeeper::kRetries);

  // Somebody may hold it who needs it no more.
  void CheckLock();
  // The node as it was read for something else: a lock in it is looked at.
  void NodeSeen(const json::Value& node);
  // The node as a watch tells of it: where its lock is that of a pod that is known to be bound
  // here, the node need not be read before the lock is let go of, and the next pod waits for that.
  void NodeChanged(const json::Value& node);

 private:
  // As a watch told of it last.
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
  bool asked_again_ = false;  // meanwhile
  int conflicts_ = 0;         // in a row, after which it was looked at again at once
  std::string odd_;           // a lock that nobody can read, as the log said
  std::string refusal_;       // why it cannot be looked at, likewise
  Backoff retries_;
  os::Alarm again_;
};

}  // namespace tessera
