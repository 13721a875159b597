// SPDX-License-Identifier: Apache-2.0
#include "kube/node_pods.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/characters.h"
#include "base/quote.h"
#include "base/text.h"
#include "http/target.h"
#include "kube/objects/metadata.h"
#include "kube/paths.h"

namespace tessera::kube {
namespace {

constexpr size_t kMostAsked = 256;  // removed pods to query; beyond, the oldest are dropped

void TellOf(const NodePods::Observer::PodCallback& told, const PodPtr& pod) {
  if (told) told(pod);
}

bool Asks(const Pod& pod, const PodFields& wanted) {
  return !wanted.resource || std::ranges::any_of(pod.containers, &Container::Asks);
}

// Drops all parts that a user can make arbitrarily large. The first container with a request stays,
// since an Allocate may come for it before the pod is refused.
void Trim(Pod& pod) {
  pod.labels.clear();
  pod.annotations.clear();
  const auto asks = std::ranges::find_if(pod.containers, &Container::Asks);
  std::vector<Container> first;
  if (asks != pod.containers.end()) {
    asks->variables.clear();
    first.push_back(std::move(*asks));
  }
  pod.containers = std::move(first);
}

// Trims a large pod if all large pods together would take too much.
void Bound(Pod& pod, const NodePods::Pods& among) {
  size_t all = CostOf(pod);
  if (all <= NodePods::kFew) return;
  for (const auto& [uid, other] : among) {
    const size_t bytes = other->uid == pod.uid ? 0 : CostOf(*other);
    if (bytes > NodePods::kFew) all += bytes;
  }
  if (all <= NodePods::kMostOfLarge) return;
  Trim(pod);
  pod.excess = fmt::format(
      "its containers, annotations, labels and variables exceed {} KiB, and its node's large pods "
      "together {} MiB",
      NodePods::kFew >> 10, NodePods::kMostOfLarge >> 20);
}

// Whether an API server made the UID: a UUID. Kubelet's UIDs of static pods are hashes.
bool IsApiServersUid(std::string_view uid) {
  constexpr std::string_view kForm = "00000000-0000-0000-0000-000000000000";
  return std::ranges::equal(
      uid, kForm, [](char c, char form) { return form == '-' ? c == '-' : IsAlphanumeric(c); });
}

// The entry of the same pod in any state, or null.
PodPtr SamePod(const NodePods::Pods& pods, const Pod& pod) {
  const auto found = pods.find(pod.KubeletUid());
  return found != pods.end() && found->second->uid == pod.uid ? found->second : nullptr;
}

// The server omits ended pods, which may stay for long and need no devices.
std::string QueryFor(const std::string& node) {
  return "fieldSelector=spec.nodeName%3D" + http::PercentEncode(node) +
         "%2Cstatus.phase%21%3DFailed%2Cstatus.phase%21%3DSucceeded";
}

}  // namespace

NodePods::NodePods(os::Loop& loop, Client& client, std::string node, PodFields wanted,
                   Observer observer, Times times)
    : client_(client),
      node_(std::move(node)),
      wanted_(std::move(wanted)),
      observer_(std::move(observer)),
      times_(times),
      left_out_("a pod's change is ignored"),
      look_(loop, [this] { PollWaiters(); }),
      watch_(loop, client, "/api/v1/pods", QueryFor(node_), PodForm(wanted_),
             {.changed = [this](const json::Value& object) { Changed(object); },
              .deleted = [this](const json::Value& object) { Gone(object); },
              .begun = [this] { Begin(); },
              .item = [this](const json::Value& object) { Take(object); },
              .listed = [this] { Listed(); },
              .failed = [this](const Error& error) { ListEnded(Fail(error)); }}) {}

const Pod* NodePods::Find(std::string_view uid) const {
  const auto found = pods_.find(uid);
  return found == pods_.end() ? nullptr : found->second.get();
}

void NodePods::Await(const std::string& uid, Steady deadline, Answer answer) {
  if (const auto found = pods_.find(uid); found != pods_.end()) return answer(found->second);
  waiters_.push_back({uid, deadline, next_++, std::move(answer)});
  look_.RingWithin(std::max(Duration(0), deadline - SystemClock().Now()));
}

void NodePods::Begin() {
  listing_ = {};
  left_out_.BeginList();
}

// An unchanged pod is shared between both lists.
void NodePods::Take(const json::Value& object) {
  PodPtr pod = Read(object, listing_);
  if (pod == nullptr) {
    pod = FormerPod(object);
    if (pod == nullptr) return;
  }
  const PodPtr former = SamePod(pods_, *pod);
  std::string uid = pod->KubeletUid();
  const bool same = former != nullptr && *former == *pod;
  listing_.insert_or_assign(std::move(uid), same ? former : pod);
}

void NodePods::Listed() {
  left_out_.EndList();
  const Pods before = std::exchange(pods_, std::exchange(listing_, {}));
  synced_ = true;
  for (const auto& [uid, pod] : before) {
    if (SamePod(pods_, *pod) == nullptr) Remove(pod);
  }
  for (const auto& [uid, pod] : pods_) {
    const PodPtr former = SamePod(before, *pod);
    if (former == nullptr) TellOf(observer_.added, pod);
    if (former != nullptr && *former != *pod) TellOf(observer_.changed, pod);
  }
  // A waiter for one pod may use all of them, so answers come after every `added` call.
  for (const auto& [uid, pod] : pods_) {
    if (SamePod(before, *pod) == nullptr) AnswerWith(pod);
  }
  ListEnded({});
}

void NodePods::Changed(const json::Value& object) {
  const PodPtr pod = Read(object, pods_);
  if (pod == nullptr) return;
  PodPtr& kept = pods_[pod->KubeletUid()];
  const PodPtr former = std::exchange(kept, pod);
  if (former == nullptr) return Add(pod);
  if (*former == *pod) return;
  if (former->uid == pod->uid) return TellOf(observer_.changed, pod);
  Remove(former);
  Add(pod);
}

void NodePods::Gone(const json::Value& object) {
  left_out_.Remove(ObjectKeyIn(object));
  const PodPtr former = FormerPod(object);
  if (former == nullptr) return;
  pods_.erase(former->KubeletUid());
  Remove(former);
}

// The watch reports an ended pod and a deleted pod alike, but a deleted pod's containers may still
// run.
void NodePods::Remove(const PodPtr& pod) {
  TellOf(observer_.removed, pod);
  if (!observer_.ended || !Asks(*pod, wanted_)) return;
  if (asked_.size() >= kMostAsked) asked_.erase(asked_.begin() + 1);
  asked_.push_back({PodPath(pod->pod_namespace, pod->name), pod->uid});
  if (asked_.size() == 1) QueryNextEnded();
}

void NodePods::QueryNextEnded() {
  if (asked_.empty()) return;
  const std::weak_ptr<const bool> still = alive_;
  client_.Get(
      asked_.front().path, PodForm(wanted_), [this, still](const Result<json::Value>& found) {
        if (still.expired()) return;
        const std::string uid = std::move(asked_.front().uid);
        asked_.pop_front();
        const auto now = found ? ReadPod(*found, wanted_) : Result<Pod>(Fail(found.error()));
        if (now && now->uid == uid && now->HasEnded()) {
          TellOf(observer_.ended, std::make_shared<const Pod>(*now));
        }
        QueryNextEnded();
      });
}

PodPtr NodePods::Read(const json::Value& object, const Pods& among) {
  Result<Pod> pod = ReadPod(object, wanted_);
  // A UUID belongs to a real pod. Kubelet may know it already, although the watch has not reported
  // it.
  if (pod && IsApiServersUid(pod->mirrored)) {
    pod = Fail(Reason::kInvalid, "pod {} claims to mirror {}, which is not a static pod",
               pod->FullName(), pod->mirrored);
  }
  if (pod) {
    const auto there = among.find(pod->KubeletUid());
    const bool taken = there != among.end() && there->second->uid != pod->uid;
    if (taken && pod->uid != there->first) {
      pod = Fail(Reason::kInvalid, "pod {} claims to mirror {}, which is {}", pod->FullName(),
                 Brief(there->first), there->second->FullName());
    }
  }
  if (pod && among.size() >= kMostPods && !among.contains(pod->KubeletUid())) {
    pod = Fail(Reason::kInvalid, "pod {} exceeds the {} pods that are kept of a node",
               pod->FullName(), kMostPods);
  }
  if (!pod) {
    left_out_.Add(ObjectKeyIn(object), pod.error());
    return nullptr;
  }
  Bound(*pod, among);
  left_out_.Remove(pod->FullName());
  return std::make_shared<const Pod>(*std::move(pod));
}

// The known state of this pod. An object that claims another pod's UID is not that pod.
PodPtr NodePods::FormerPod(const json::Value& object) const {
  const auto found = pods_.find(KubeletUidIn(object));
  if (found == pods_.end() || found->second->FullName() != ObjectKeyIn(object)) return nullptr;
  return found->second;
}

void NodePods::Add(const PodPtr& pod) {
  TellOf(observer_.added, pod);
  AnswerWith(pod);
}

// Waiters that arrived after the list request was sent are not answered from it.
void NodePods::ListEnded(const Status& status) {
  if (!status) listing_ = {};
  const uint64_t covered = std::exchange(covered_, 0);
  const Steady now = SystemClock().Now();
  const Which which = [&](const Waiter& w) { return w.number < covered && w.deadline <= now; };
  AnswerThose(which, status ? Fail(Reason::kNotFound, "no such pod on node {}", node_)
                            : Result<PodPtr>(Fail(status.error())));
  PollWaiters();
}

void NodePods::PollWaiters() {
  const Steady now = SystemClock().Now();
  const auto end = [&](const Waiter& waiter) { return waiter.deadline + 2 * times_.list; };
  AnswerThose([&](const Waiter& waiter) { return end(waiter) <= now; },
              Fail(Reason::kApiUnreachable, "the pods of node {} were not listed within {}", node_,
                   FormatDuration(2 * times_.list)));
  bool due = false;
  for (const Waiter& waiter : waiters_) {
    due = due || waiter.deadline <= now;
    look_.RingWithin((waiter.deadline <= now ? end(waiter) : waiter.deadline) - now);
  }
  if (due) ListForWaiters(now);
}

void NodePods::ListForWaiters(Steady now) {
  if (covered_ > 0) return;
  if (now < resting_) return look_.RingWithin(resting_ - now);
  if (!watch_.Refresh(times_.list)) return;  // the end of the current list polls again
  covered_ = next_;
  resting_ = now + times_.between;
}

void NodePods::AnswerWith(const PodPtr& pod) {
  AnswerThose([&](const Waiter& waiter) { return waiter.uid == pod->KubeletUid(); }, pod);
}

void NodePods::AnswerThose(const Which& which, const Result<PodPtr>& result) {
  const auto rest = std::stable_partition(waiters_.begin(), waiters_.end(),
                                          [&](const Waiter& waiter) { return !which(waiter); });
  std::vector<Waiter> those(std::make_move_iterator(rest), std::make_move_iterator(waiters_.end()));
  waiters_.erase(rest, waiters_.end());
  for (const Waiter& waiter : those) waiter.answer(result);
}

}  // namespace tessera::kube
