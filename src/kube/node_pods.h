// SPDX-License-Identifier: Apache-2.0
// The pods of one node as the API server last reported them, by kubelet's UIDs: listed, then
// watched. Ended pods are excluded, since there may be any number. While the API server is
// unreachable, the pods stay as last seen.
//
// A mirror pod claims its static pod's UID by an annotation, which any user who creates pods can
// write. So it never replaces a pod with that UID of its own, nor another mirror pod. It may not
// claim a UUID either: API servers make those, so it would be the UID of a pod not reported yet. A
// pod that cannot be read affects no other. It keeps its last state, or stays out, and is logged
// once.
//
// One thread: the loop's. The client outlives it. Neither an observer nor an answer may destroy it.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "kube/client.h"
#include "kube/left_out.h"
#include "kube/objects/pod.h"
#include "os/alarm.h"
#include "os/loop.h"

namespace tessera::kube {

class NodePods {
 public:
  // Approximate bytes for all pods above kFew together. One user's many large pods therefore cost
  // no small pod its data.
  static constexpr size_t kMostOfLarge = size_t{8} << 20;
  static constexpr size_t kFew = size_t{6} << 10;
  // Few nodes run more than 500 pods. Kubelet rejects the rest, but not at once.
  static constexpr size_t kMostPods = 4'000;

  // Callbacks for a pod that appeared, changed, or is gone; an ended pod counts as gone. Each may
  // be empty.
  struct Observer {
    using PodCallback = std::function<void(const PodPtr&)>;
    PodCallback added{};
    PodCallback changed{};
    PodCallback removed{};
    PodCallback
        ended{};  // after `removed`: the pod has ended, and no container of it will run again
  };
  struct Times {
    Duration list{2'000};     // time limit of a list for waiters
    Duration between{1'000};  // between the starts of two such lists
  };
  using Pods = std::map<std::string, PodPtr, std::less<>>;
  using Answer = std::function<void(const Result<PodPtr>&)>;

  NodePods(os::Loop& loop, Client& client, std::string node, PodFields wanted, Observer observer,
           Times times);

  // Whether a list has been read.
  bool Synced() const { return synced_; }
  const Pods& pods() const { return pods_; }
  // Null if there is no such pod. Valid until the loop runs.
  const Pod* Find(std::string_view uid) const;

  // Answers with the pod of this UID: before returning if it is known, else once it and the pods
  // that came with it were reported. At the deadline the pods are listed once for all waiters. The
  // answer is then the pod, kNotFound, or the list's error. It comes at the latest two `list` spans
  // after the deadline.
  void Await(const std::string& uid, Steady deadline, Answer answer);

 private:
  struct Waiter {
    std::string uid;
    Steady deadline;
    uint64_t number;  // in order of arrival
    Answer answer;
  };
  using Which = std::function<bool(const Waiter&)>;

  void Begin();
  void Take(const json::Value& object);
  void Listed();
  void Changed(const json::Value& object);
  void Gone(const json::Value& object);
  // Null if it cannot be read or kept among these.
  PodPtr Read(const json::Value& object, const Pods& among);
  PodPtr FormerPod(const json::Value& object) const;
  void Add(const PodPtr& pod);
  void Remove(const PodPtr& pod);
  // Asks the API server whether a removed pod has ended. One query at a time, whatever the number
  // of removed pods.
  void QueryNextEnded();
  void ListEnded(const Status& status);
  void PollWaiters();
  void ListForWaiters(Steady now);
  void AnswerWith(const PodPtr& pod);
  void AnswerThose(const Which& which, const Result<PodPtr>& result);

  Client& client_;
  const std::string node_;
  const PodFields wanted_;
  const Observer observer_;
  const Times times_;
  bool synced_ = false;
  Pods pods_;
  Pods listing_;  // of the list being read
  LeftOut left_out_;
  std::vector<Waiter> waiters_;
  struct EndedQuery {
    std::string path;
    std::string uid;
  };
  std::deque<EndedQuery> asked_;  // the first is in flight
  uint64_t next_ = 1;             // number of the next waiter
  // Waiters below this number came before the current list was requested.
  uint64_t covered_ = 0;
  Steady resting_{};  // no list before
  os::Alarm look_;
  const std::shared_ptr<const bool> alive_ = std::make_shared<const bool>(true);
  Watch watch_;
};

}  // namespace tessera::kube
