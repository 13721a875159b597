// SPDX-License-Identifier: Apache-2.0
// Binds pods to the nodes that kube-scheduler chose. One write binds a pod; its annotations list
// what each container gets. The binder first takes HAMi's node lock if the node's device plugin
// needs it. When the outcome of a Binding is unknown, the binder reads the pod before it frees the
// pod's room. Each write checks first that this replica still leads, because the new leader
// allocates the same room.
// One thread: the loop's. Every constructor argument outlives the binder.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "base/clock.h"
#include "base/result.h"
#include "kube/client.h"
#include "scheduler/cluster.h"
#include "scheduler/extender.h"
#include "scheduler/node_locks.h"

namespace tessera::scheduler {

class Binder {
 public:
  using Done = std::function<void(const Status&)>;

  // kUnavailable, with the reason, while no pod may be bound.
  using MayBind = std::function<Status()>;

  Binder(const Clock& clock, kube::Client& client, Cluster& cluster, NodeLocks& locks,
         MayBind may_bind)
      : clock_(clock),
        client_(client),
        cluster_(cluster),
        locks_(locks),
        may_bind_(std::move(may_bind)) {}

  // Succeeds if the pod is bound to this node with the placement chosen for it, by this call or an
  // earlier one.
  void Bind(const BindCall& call, Done done);

 private:
  struct Work {
    BindCall call;
    Done done;
    kube::Binding binding{};
    bool locked = false;
    int sent = 0;  // Bindings so far
    // A Binding of this or an earlier call may still bind the pod.
    bool unsure = false;
  };
  using WorkPtr = std::shared_ptr<Work>;

  void Place(const WorkPtr& work, bool may_read);
  // The watch has not delivered the pod yet.
  void ReadUnseen(const WorkPtr& work, const Error& unseen);
  void Lock(const WorkPtr& work);
  void Send(const WorkPtr& work);
  void SendEnded(const WorkPtr& work, const Status& bound);
  // Reads the pod, because `why` does not say whether the Binding took effect.
  void LookUp(const WorkPtr& work, const Error& why);
  void Judge(const WorkPtr& work, const kube::PodPtr& pod, const Error& why);
  // Fails the call. Drops the hold unless an earlier Binding may still bind the pod.
  void Refuse(const WorkPtr& work, const Error& why);
  void ReadPod(const BindCall& call, std::function<void(const Result<kube::PodPtr>&)> answer);

  const Clock& clock_;
  kube::Client& client_;
  Cluster& cluster_;
  NodeLocks& locks_;
  const MayBind may_bind_;
};

}  // namespace tessera::scheduler
