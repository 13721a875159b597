// SPDX-License-Identifier: Apache-2.0
#include "scheduler/binder.h"

#include <utility>

#include "base/log.h"

namespace tessera::scheduler {
namespace {

// The binder reads the pod before each retry. After the last one, kube-scheduler retries the bind.
constexpr int kMostSent = 3;

std::string NameOf(const BindCall& call) {
  return call.pod_namespace + "/" + call.pod;
}

hami::LockOwner OwnerOf(const BindCall& call) {
  return {call.pod_namespace, call.pod};
}

// By this call, or by an earlier one whose answer was lost.
bool IsBoundAs(const kube::Pod& pod, const kube::Binding& binding) {
  if (pod.node != binding.node) return false;
  for (const auto& [key, value] : binding.annotations) {
    // Plugins change the other annotations later: the phase, and the devices still to be allocated.
    if (key.ends_with("-devices-allocated") && pod.Annotation(key) != value) return false;
  }
  return true;
}

}  // namespace

void Binder::Bind(const BindCall& call, Done done) {
  Place(std::make_shared<Work>(Work{.call = call, .done = std::move(done)}), true);
}

void Binder::Place(const WorkPtr& work, bool may_read) {
  // An earlier call's Binding may still be in flight.
  work->unsure = cluster_.IsSent(work->call.uid);
  auto binding = cluster_.PlaceOn(work->call, clock_.Now(), clock_.WallNow());
  if (binding) {
    work->binding = *std::move(binding);
    return Lock(work);
  }
  const bool unseen = binding.error().reason == Reason::kNotFound;
  if (unseen && may_read) return ReadUnseen(work, binding.error());
  work->done(Fail(binding.error()));
}

void Binder::ReadUnseen(const WorkPtr& work, const Error& unseen) {
  ReadPod(work->call, [this, work, unseen](const Result<kube::PodPtr>& pod) {
    if (!pod) return work->done(Fail(pod.error()));
    if ((*pod)->uid != work->call.uid) return work->done(Fail(unseen));
    cluster_.PutPod(*pod);
    Place(work, false);
  });
}

void Binder::Lock(const WorkPtr& work) {
  if (!cluster_.NeedsLock(work->call.uid, work->call.node)) return Send(work);
  locks_.Take(work->call.node, OwnerOf(work->call), [this, work](const Status& locked) {
    if (!locked) return Refuse(work, locked.error());
    work->locked = true;
    // The pod may have been deleted while the call waited for the lock.
    if (cluster_.IsHeld(work->call.uid, work->call.node)) return Send(work);
    Refuse(work, {Reason::kNotFound, "pod " + NameOf(work->call) +
                                         " was deleted while it waited for the node's lock"});
  });
}

void Binder::Send(const WorkPtr& work) {
  // The call may have waited for long. A replica that lost the Lease must not bind, because the new
  // leader allocates the same room.
  if (const Status may = may_bind_(); !may) return Refuse(work, may.error());
  ++work->sent;
  cluster_.BindingSent(work->call.uid);
  client_.Bind(work->binding, [this, work](const Status& bound) { SendEnded(work, bound); });
}

void Binder::SendEnded(const WorkPtr& work, const Status& bound) {
  if (bound) return work->done({});
  const Reason why = bound.error().reason;
  if (why == Reason::kApiUnreachable) work->unsure = true;
  if (why == Reason::kApiUnreachable || why == Reason::kApiConflict) {
    return LookUp(work, bound.error());
  }
  Refuse(work, bound.error());
}

void Binder::LookUp(const WorkPtr& work, const Error& why) {
  ReadPod(work->call, [this, work, why](const Result<kube::PodPtr>& pod) {
    if (pod) return Judge(work, *pod, why);
    if (pod.error().reason == Reason::kNotFound) return Refuse(work, pod.error());
    // The hold stays: kube-scheduler retries, and Filter answers with the same node.
    work->done(Fail(why));
  });
}

void Binder::Judge(const WorkPtr& work, const kube::PodPtr& pod, const Error& why) {
  if (pod->uid != work->call.uid) {
    return Refuse(work, {Reason::kNotFound, "pod " + NameOf(work->call) +
                                                " was replaced by a new pod of the same name"});
  }
  if (!pod->node.empty()) {
    const bool ours = IsBoundAs(*pod, work->binding);
    cluster_.PutPod(pod);
    if (ours) return work->done({});
    return Refuse(work, {Reason::kApiConflict, "pod " + NameOf(work->call) + " is bound to node " +
                                                   pod->node + " by another scheduler"});
  }
  const bool refused = why.reason == Reason::kApiConflict;  // for example, the pod is being deleted
  if (refused) return Refuse(work, why);
  if (work->sent < kMostSent) return Send(work);
  work->done(Fail(why));
}

void Binder::Refuse(const WorkPtr& work, const Error& why) {
  // An earlier Binding may still take effect, so the hold stays unless the pod is gone.
  if (work->unsure && why.reason != Reason::kNotFound) return work->done(Fail(why));
  cluster_.DropHold(work->call.uid);
  if (work->locked) locks_.Release(work->call.node, OwnerOf(work->call));
  log::Info("cannot bind a pod",
            {{"pod", NameOf(work->call)}, {"node", work->call.node}, {"why", why.message}});
  work->done(Fail(why));
}

void Binder::ReadPod(const BindCall& call,
                     std::function<void(const Result<kube::PodPtr>&)> answer) {
  const kube::PodFields fields = cluster_.PodFields();
  client_.Get(kube::PodPath(call.pod_namespace, call.pod), kube::PodForm(fields),
              [fields, answer = std::move(answer)](const Result<json::Value>& object) {
                if (!object) return answer(Fail(object.error()));
                auto pod = kube::ReadPod(*object, fields);
                if (!pod) return answer(Fail(pod.error()));
                answer(std::make_shared<const kube::Pod>(*std::move(pod)));
              });
}

}  // namespace tessera::scheduler
