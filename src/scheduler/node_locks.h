// SPDX-License-Identifier: Apache-2.0
// HAMi's node locks (hami/node_lock.h), for device plugins that find their pod by the lock. The
// scheduler takes the lock just before it binds a pod. The plugin removes it once the pod has its
// devices. Waiters for one node are served in the order of arrival.
// One thread: the loop's. The client outlives it.
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
  // Longest wait for a lock; less than kube-scheduler's timeout for a bind.
  Duration patience = std::chrono::seconds(20);
  // An older lock is broken.
  Duration timeout = hami::kNodeLockTimeout;
};

class NodeLocks {
 public:
  using Done = std::function<void(const Status&)>;
  // kUnavailable, with the reason, while another replica leads and owns these locks.
  using MayLock = std::function<Status()>;

  NodeLocks(os::Loop& loop, const Clock& clock, kube::Client& client, NodeLockLimits limits = {},
            MayLock may_lock = {});
  ~NodeLocks();

  // Succeeds once the node is locked for the pod. Gives kUnavailable if it stays locked for another
  // pod, kInvalid if the lock is unreadable, or the client's error.
  void Take(const std::string& node, const hami::LockOwner& owner, Done done);
  // Removes the lock of a pod that was not bound; no plugin will. A lock that another scheduler
  // wrote since for the same pod stays.
  void Release(const std::string& node, const hami::LockOwner& owner);
  // Called by the node watch. Wakes the waiters of a node whose lock is gone.
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
    bool busy = false;  // a read or write of the node or the lock's pod is in flight
    os::Alarm again;
  };

  void Look(const std::string& node);
  void Judge(const std::string& node, const json::Value& object);
  void JudgeOwner(const std::string& node, const hami::LockOwner& owner,
                  const std::string& version);
  void Write(const std::string& node, const std::string& version);
  void WriteEnded(const std::string& node, const Status& written);
  // Another pod has the lock. Retries a little later, or fails the first waiter past its deadline.
  void Wait(const std::string& node, const std::string& why);
  // Completes the first waiter.
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
