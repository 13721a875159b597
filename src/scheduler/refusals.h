// SPDX-License-Identifier: Apache-2.0
// Pods that fitted no node at their last Filter call, and the reasons. Kube-scheduler retries such
// a pod when it sees a change, possibly before this process has seen it. The pod would then wait
// for minutes. These refusals find pods that fit by now, so that the service can wake them.
// No I/O. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/backoff.h"
#include "base/clock.h"
#include "kube/objects/pod.h"
#include "placement/device_choice.h"

namespace tessera::scheduler {

// The nodes that give one reason: their number, and the first of them by name.
struct RefusalGroup {
  static constexpr size_t kMostNamed = 10;

  size_t count = 0;
  std::vector<std::string> nodes{};

  void Add(const std::string& node) {
    ++count;
    if (nodes.size() < kMostNamed) nodes.push_back(node);
  }
  bool operator==(const RefusalGroup&) const = default;
};
using RefusalGroups = std::map<std::string, RefusalGroup, std::less<>>;  // by reason

// "none of 12 nodes fits: devices have too little memory left (8), ...".
std::string TextOf(const RefusalGroups& groups);

struct Refusal {
  // The pauses between two wake-ups of one pod.
  static constexpr Backoff kPauses{Duration(2'000), Duration(120'000)};

  kube::PodPtr pod;
  DeviceDemand demand{};  // the pod's; its annotations cost too much to read for each node
  std::shared_ptr<const std::vector<std::string>> nodes;  // nodes of the Filter call, sorted
  RefusalGroups groups{};
  Steady when{};
  // The number of the latest change at the refusal (Refusals::Changed).
  uint64_t change = 0;
  Steady rest{};  // no wake-up before
  Backoff pauses = kPauses;
};

class Refusals {
 public:
  // Returns whether the reasons differ from the last refusal's.
  bool Put(kube::PodPtr pod, DeviceDemand demand, std::vector<std::string> nodes,
           RefusalGroups groups, Steady now);
  void Erase(const std::string& uid) { refused_.erase(uid); }
  // Null if the pod is not refused.
  const Refusal* Find(const std::string& uid) const;
  size_t size() const { return refused_.size(); }

  // The node may have more room than before.
  void Changed(const std::string& node);
  // Whether ToWake may have work. The owner then calls it at intervals.
  bool pending() const { return !changed_.empty() || !fresh_.empty(); }
  // Pods that fit a node which changed after their refusal, longest refused first. A change is
  // considered only at the second call after it, so kube-scheduler has time to retry by itself. A
  // woken pod pauses before its next wake-up.
  std::vector<kube::PodPtr> ToWake(
      Steady now, const std::function<bool(const Refusal& refusal, const std::string& node)>& fits);

 private:
  using Changes = std::map<std::string, uint64_t>;  // number of the latest change, by node

  std::vector<Refusal*> ByAge();

  std::map<std::string, Refusal> refused_;  // by pod UID
  Changes changed_;
  Changes fresh_;  // since the last ToWake
  uint64_t changes_ = 0;
  // Of the last refusal; shared by all refusals with the same nodes.
  std::shared_ptr<const std::vector<std::string>> nodes_;
};

}  // namespace tessera::scheduler
