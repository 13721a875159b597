// SPDX-License-Identifier: Apache-2.0
#include "kube/node_pods.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/characters.h"
#include "base/log.h"
#include "base/quote.h"
#include "base/text.h"
#include "http/wire.h"

namespace tessera::kube {
namespace {

void TellOf(const NodePods::Observer::Told& told, const Pod& pod) {
  if (told) told(pod);
}

// Whether an API server made it up: a UUID. Kubelet's own, of static pods, are hashes.
bool IsApiServersUid(std::string_view uid) {
  constexpr std::string_view kForm = "00000000-0000-0000-0000-000000000000";
  return std::ranges::equal(
      uid, kForm, [](char c, char form) { return form == '-' ? c == '-' : IsAlphanumeric(c); });
}

// The entry of the same object, whatever its state; null where there is none.
const Pod* SamePod(const NodePods::Pods& pods, const Pod& pod) {
  const auto found = pods.find(pod.KubeletUid());
  return found != pods.end() && found->second.uid == pod.uid ? &found->second : nullptr;
}

}  // namespace

NodePods::NodePods(os::Loop& loop, Client& client, std::string node, PodFields wanted,
                   Observer observer, Times times)
    : node_(std::move(node)),
      wanted_(std::move(wanted)),
      observer_(std::move(observer)),
      times_(times),
      look_(loop, [this] { Look(); }),
      watch_(loop, client, "/api/v1/pods",
             "fieldSelector=spec.nodeName%3D" + http::PercentEncode(node_),
             {.changed = [this](const json::Value& object) { Changed(object); },
              .deleted = [this](const json::Value& object) { Gone(object); },
              .listed = [this](const std::vector<json::Value>&) { Listed(); },
              .reader = {.page = [this](const json::Array& objects,
                                        bool first) { TakePage(objects, first); },
                         .without = kUnreadMembers},
              .failed = [this](const Error& error) { ListEnded(Fail(error)); }}) {}

const Pod* NodePods::Find(std::string_view uid) const {
  const auto found = pods_.find(uid);
  return found == pods_.end() ? nullptr : &found->second;
}

void NodePods::Await(const std::string& uid, Steady deadline, Answer answer) {
  if (const Pod* pod = Find(uid)) return answer(*pod);
  waiters_.push_back({uid, deadline, next_++, std::move(answer)});
  look_.Within(std::max(Duration(0), deadline - SystemClock().Now()));
}

void NodePods::TakePage(const json::Array& objects, bool first) {
  if (first) listing_ = {};
  for (const json::Value& object : objects) {
    std::optional<Pod> pod = Read(object, listing_.pods, listing_.left_out);
    if (!pod) {
      const Pod* former = Former(object);
      if (former == nullptr) continue;
      pod = *former;
    }
    std::string uid = pod->KubeletUid();
    listing_.pods.insert_or_assign(std::move(uid), *std::move(pod));
  }
}

void NodePods::Listed() {
  Listing listing = std::exchange(listing_, {});
  left_out_ = std::move(listing.left_out);
  const Pods before = std::exchange(pods_, std::move(listing.pods));
  synced_ = true;
  for (const auto& [uid, pod] : before) {
    if (SamePod(pods_, pod) == nullptr) TellOf(observer_.removed, pod);
  }
  for (const auto& [uid, pod] : pods_) {
    const Pod* former = SamePod(before, pod);
    if (former == nullptr) TellOf(observer_.added, pod);
    if (former != nullptr && *former != pod) TellOf(observer_.changed, pod);
  }
  // Who waits for one pod goes by all of them.
  for (const auto& [uid, pod] : pods_) {
    if (SamePod(before, pod) == nullptr) AnswerWith(pod);
  }
  ListEnded({});
}

void NodePods::Changed(const json::Value& object) {
  std::optional<Pod> pod = Read(object, pods_, left_out_);
  if (!pod) return;
  Pod& kept = pods_[pod->KubeletUid()];
  const Pod former = std::exchange(kept, *std::move(pod));
  if (former == kept) return;
  if (former.uid == kept.uid) return TellOf(observer_.changed, kept);
  if (!former.uid.empty()) TellOf(observer_.removed, former);
  Add(kept);
}

void NodePods::Gone(const json::Value& object) {
  left_out_.erase(PodNameIn(object));
  const Pod* former = Former(object);
  if (former == nullptr) return;
  const auto gone = pods_.extract(former->KubeletUid());
  TellOf(observer_.removed, gone.mapped());
}

std::optional<Pod> NodePods::Read(const json::Value& object, const Pods& among,
                                  std::set<std::string>& left_out) {
  Result<Pod> pod = ReadPod(object, wanted_);
  // It may be of a pod that kubelet knows already, and that has not been told of here.
  if (pod && IsApiServersUid(pod->mirrored)) {
    pod = Fail(Reason::kInvalid, "pod {} says that it mirrors {}, which is no static pod",
               pod->FullName(), pod->mirrored);
  }
  if (pod) {
    const auto there = among.find(pod->KubeletUid());
    const bool taken = there != among.end() && there->second.uid != pod->uid;
    if (taken && pod->uid != there->first) {
      pod = Fail(Reason::kInvalid, "pod {} says that it mirrors {}, which is {}", pod->FullName(),
                 Brief(there->first), there->second.FullName());
    }
  }
  std::string name = PodNameIn(object);
  if (pod) {
    left_out.erase(name);
    return *std::move(pod);
  }
  if (!left_out_.contains(name)) log::Warn("a pod is left as it was", pod.error());
  left_out.insert(std::move(name));
  return std::nullopt;
}

// What is known of this pod: an object that claims the UID of another one is none of it.
const Pod* NodePods::Former(const json::Value& object) const {
  const Pod* pod = Find(KubeletUidIn(object));
  return pod != nullptr && pod->FullName() == PodNameIn(object) ? pod : nullptr;
}

void NodePods::Add(const Pod& pod) {
  TellOf(observer_.added, pod);
  AnswerWith(pod);
}

// Who came while it was read is not served by it.
void NodePods::ListEnded(const Status& status) {
  if (!status) listing_ = {};
  const uint64_t covered = std::exchange(covered_, 0);
  const Steady now = SystemClock().Now();
  const Which which = [&](const Waiter& w) { return w.number < covered && w.deadline <= now; };
  AnswerThose(which, status ? Fail(Reason::kNotFound, "no such pod on node {}", node_)
                            : Result<Pod>(Fail(status.error())));
  Look();
}

void NodePods::Look() {
  const Steady now = SystemClock().Now();
  const auto end = [&](const Waiter& waiter) { return waiter.deadline + 2 * times_.list; };
  AnswerThose([&](const Waiter& waiter) { return end(waiter) <= now; },
              Fail(Reason::kApiUnreachable, "the pods of node {} were not listed within {}", node_,
                   FormatDuration(2 * times_.list)));
  bool due = false;
  for (const Waiter& waiter : waiters_) {
    due = due || waiter.deadline <= now;
    look_.Within((waiter.deadline <= now ? end(waiter) : waiter.deadline) - now);
  }
  if (due) ListForWaiters(now);
}

void NodePods::ListForWaiters(Steady now) {
  if (covered_ > 0) return;
  if (now < resting_) return look_.Within(resting_ - now);
  if (!watch_.Refresh(times_.list)) return;  // there will be another look when that list has ended
  covered_ = next_;
  resting_ = now + times_.between;
}

void NodePods::AnswerWith(const Pod& pod) {
  AnswerThose([&](const Waiter& waiter) { return waiter.uid == pod.KubeletUid(); }, pod);
}

void NodePods::AnswerThose(const Which& which, const Result<Pod>& result) {
  const auto rest = std::stable_partition(waiters_.begin(), waiters_.end(),
                                          [&](const Waiter& waiter) { return !which(waiter); });
  std::vector<Waiter> those(std::make_move_iterator(rest), std::make_move_iterator(waiters_.end()));
  waiters_.erase(rest, waiters_.end());
  for (const Waiter& waiter : those) waiter.answer(result);
}

}  // namespace tessera::kube
