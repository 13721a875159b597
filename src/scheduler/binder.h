// SPDX-License-Identifier: Apache-2.0
// Binds pods to the nodes that kube-scheduler chose: one write, whose annotations say what each
// container gets; before it HAMi's lock of the node, where the node's plugin needs it. An outcome
// that nobody knows is looked up before the room of the pod is given to another. What takes long
// ends where another leads meanwhile, who gives the same room away. One thread: its loop's. All
// that is given outlives it.
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

  // kUnavailable, with why, where no pod may be bound now.
  using MayBind = std::function<Status()>;

  Binder(const Clock& clock, kube::Client& client, Cluster& cluster, NodeLocks& locks,
         MayBind may_bind)
      : clock_(clock),
        client_(client),
        cluster_(cluster),
        locks_(locks),
        may_bind_(std::move(may_bind)) {}

  // Ends with a good outcome where the pod is bound to this node with what was chosen for it, by
  // this call or one before.
  void Bind(const BindCall& call, Done done);

 private:
  struct Work {
    BindCall call;
    Done done;
    kube::Binding binding{};
    bool locked = false;
    int sent = 0;         // how often
    bool unsure = false;  // one that was sent, by this call or one before, may bind it yet
  };
  using WorkPtr = std::shared_ptr<Work>;

  void Place(const WorkPtr& work, bool may_read);
  // The watch has not told of the pod.
  void ReadUnseen(const WorkPtr& work, const Error& unseen);
  void Lock(const WorkPtr& work);
  void Send(const WorkPtr& work);
  void SendEnded(const WorkPtr& work, const Status& bound);
  // What became of the pod, which `why` does not say.
  void LookUp(const WorkPtr& work, const Error& why);
  void Judge(const WorkPtr& work, const kube::PodPtr& pod, const Error& why);
  // It is not bound by this call. Its room is given back unless one before may bind it yet.
  void Refuse(const WorkPtr& work, const Error& why);
  void ReadPod(const BindCall& call, std::function<void(const Result<kube::PodPtr>&)> answer);

  const Clock& clock_;
  kube::Client& client_;
  Cluster& cluster_;
  NodeLocks& locks_;
  const MayBind may_bind_;
};

}  // namespace tessera::scheduler
