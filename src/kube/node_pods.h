// SPDX-License-Identifier: Apache-2.0
// The pods of one node as the API server has them, by the UIDs that kubelet knows them by: listed,
// then watched; without those that have ended, of which there may be any number. While the API
// server cannot be reached, they stay as they were last seen.
//
// A mirror pod stands for a static one by an annotation of its own, which anybody who makes pods
// can write: it never takes the place of a pod whose own UID that is, nor of another mirror pod
// that is there, nor that of a pod that has not been told of yet: a UID as API servers make them is
// no static pod's. A pod that cannot be read costs itself only: it stays as it was last, or out,
// and the log says so once.
//
// One thread: its loop's, as the client's, which outlives it. Neither an observer nor an answer may
// destroy it.
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
  // About the bytes that pods may take: all of those together that take more than a few, so that
  // whoever makes many large pods costs nobody else's.
  static constexpr size_t kMostOfLarge = size_t{8} << 20;
  static constexpr size_t kFew = size_t{6} << 10;
  // kubelet turns those away that it has no room for, of which few nodes have more than 500; it
  // takes a while.
  static constexpr size_t kMostPods = 4'000;

  // Who is told that a pod came, is another than before, or is gone, which is one that has ended as
  // well. Each may be empty.
  struct Observer {
    using PodCallback = std::function<void(const PodPtr&)>;
    PodCallback added{};
    PodCallback changed{};
    PodCallback removed{};
    PodCallback
        ended{};  // of one that is gone: it is there still, and none of its containers runs again
  };
  struct Times {
    Duration list{2'000};     // how long a list for those who wait may take
    Duration between{1'000};  // the begins of two of them
  };
  using Pods = std::map<std::string, PodPtr, std::less<>>;
  using Answer = std::function<void(const Result<PodPtr>&)>;

  NodePods(os::Loop& loop, Client& client, std::string node, PodFields wanted, Observer observer,
           Times times);

  // Whether they were listed at all.
  bool Synced() const { return synced_; }
  const Pods& pods() const { return pods_; }
  // Null where there is none; good until the loop goes on.
  const Pod* Find(std::string_view uid) const;

  // The pod of this UID: answered before this returns where it is known, else when it comes, and
  // all that came with it have been told. Where it has not come by the deadline, the pods are
  // listed once for all who wait, and it is in that list, or kNotFound; where they cannot be
  // listed, the list's error, two times `list` after the deadline at the latest.
  void Await(const std::string& uid, Steady deadline, Answer answer);

 private:
  struct Waiter {
    std::string uid;
    Steady deadline;
    uint64_t number;  // in the order they came
    Answer answer;
  };
  using Which = std::function<bool(const Waiter&)>;

  void Begin();
  void Take(const json::Value& object);
  void Listed();
  void Changed(const json::Value& object);
  void Gone(const json::Value& object);
  // Null where it has no place among these.
  PodPtr Read(const json::Value& object, const Pods& among);
  PodPtr FormerPod(const json::Value& object) const;
  void Add(const PodPtr& pod);
  void Remove(const PodPtr& pod);
  // Whether one that is gone has ended: of one at a time, whoever removes how many.
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
  Pods listing_;  // of a list that is being read
  LeftOut left_out_;
  std::vector<Waiter> waiters_;
  struct EndedQuery {
    std::string path;
    std::string uid;
  };
  std::deque<EndedQuery> asked_;  // the first is under way
  uint64_t next_ = 1;             // the number of the next one
  uint64_t covered_ = 0;  // who has a smaller number came before the list under way was asked for
  Steady resting_{};      // until then none is asked for
  os::Alarm look_;
  const std::shared_ptr<const bool> alive_ = std::make_shared<const bool>(true);
  Watch watch_;
};

}  // namespace tessera::kube
