// SPDX-License-Identifier: Apache-2.0
// HAMi's lock of nodes (hami/node_lock.h), for those whose device plugin finds its pod by it: taken
// just before a pod is bound, and taken away by the plugin once the pod has its devices. Pods that
// wait for the same node get its lock one after the other, in the order in which they came.
// One thread: its loop's, as the client's, which outlives it.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "hami/node_lock.h"
#include "json/json.h"
#include "kube/client.h"
#include "kube/objects/pod.h"
#include "os/alarm.h"
#include "os/loop.h"

namespace tessera::scheduler {

struct NodeLockLimits {
  // How long a pod waits: less than kube-scheduler waits for a bind.
  Duration patience = std::chrono::seconds(20);
  // After so long anybody may take a lock over.
  Duration timeout = hami::kNodeLockTimeout;
};

class NodeLocks {
 public:
  using Done = std::function<void(const Status&)>;
  // kUnavailable, with why, where no node may be locked now: another leads, whose locks these are.
  using MayLock = std::function<Status()>;

  NodeLocks(os::Loop& loop, const Clock& clock, kube::Client& client, NodeLockLimits limits = {},
            MayLock may_lock = {});
  ~NodeLocks();

  // Ends with a good outcome once the node is locked for the pod. kUnavailable where it stays
  // locked for another; kInvalid where nobody can read whose the lock is; the client's errors.
  void Take(const std::string& node, const hami::LockOwner& owner, Done done);
  // The pod was not bound: no plugin takes its lock away. One that another has written for the same
  // pod since stays.
  void Release(const std::string& node, const hami::LockOwner& owner);
  // As a watch tells: whoever waits for a lock that is gone need not wait longer.
  void NodeSeen(const std::string& node, bool locked);

 private:
  struct Waiter {
    hami::LockOwner owner;
    Steady deadline{};
    Done done;
  };
  struct Queue {
    Queue(os::Loop& loop, std::function<void()> look) : again(loop, std::move(look)) {}
    std::deque<Waiter> waiting{};
    bool busy = false;  // the node, or who has its lock, is being read or written
    os::Alarm again;
  };

  void Look(const std::string& node);
  void Judge(const std::string& node, const json::Value& object);
  void JudgeOwner(const std::string& node, const hami::LockOwner& owner,
                  const std::string& version);
  void Write(const std::string& node, const std::string& version);
  void WriteEnded(const std::string& node, const Status& written);
  // The lock is another's: looked at again a little later, or not in time.
  void Wait(const std::string& node, const std::string& why);
  // Of the first that waits.
  void End(const std::string& node, const Status& result);

  os::Loop& loop_;
  const Clock& clock_;
  kube::Client& client_;
  const NodeLockLimits limits_;
  const MayLock may_lock_;
  std::map<std::string, std::string> written_;            // the last lock of each node
  std::map<std::string, std::unique_ptr<Queue>> queues_;  // by node
};

}  // namespace tessera::scheduler
