// SPDX-License-Identifier: Apache-2.0
// Pods that no node could have when kube-scheduler last asked, and why. Kube-scheduler tries such a
// pod again when it sees something change, which may be before this process has seen it: then the
// pod would wait for minutes. Whoever finds that it fits by now wakes it. No I/O; one thread.
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

namespace tessera::scheduler {

// Why the nodes cannot have a pod: how many say so, and the first of them by name.
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
using RefusalGroups = std::map<std::string, RefusalGroup, std::less<>>;  // by why

// "none of 12 nodes can have it: devices have too little memory left (8), ...".
std::string TextOf(const RefusalGroups& groups);

struct Refusal {
  // Between two times that the same pod is woken.
  static constexpr Backoff kPauses{Duration(2'000), Duration(120'000)};

  kube::PodPtr pod;
  std::shared_ptr<const std::vector<std::string>> nodes;  // that were to choose from, sorted
  RefusalGroups groups{};
  Steady when{};
  uint64_t change = 0;  // the last one that was known then (Refusals::Changed)
  Steady rest{};        // until then it is not woken again
  Backoff pauses = kPauses;
};

class Refusals {
 public:
  // Whether the pod is refused for other reasons than the last time.
  bool Put(kube::PodPtr pod, std::vector<std::string> nodes, RefusalGroups groups, Steady now);
  void Erase(const std::string& uid) { refused_.erase(uid); }
  // Null where it is not refused.
  const Refusal* Find(const std::string& uid) const;
  size_t size() const { return refused_.size(); }

  // Something of the node is free that was not, perhaps.
  void Changed(const std::string& node);
  // Whether somebody may have to be woken: then ToWake is called a little later, again and again.
  bool pending() const { return !changed_.empty() || !fresh_.empty(); }
  // Those that a node can have, by `fits`, that changed after they were refused; the longest
  // refused first. Kube-scheduler has the time between two calls to come by itself. Whoever is
  // woken rests for a while, and is looked at again then.
  std::vector<kube::PodPtr> ToWake(
      Steady now, const std::function<bool(const kube::Pod& pod, const std::string& node)>& fits);

 private:
  using Changes = std::map<std::string, uint64_t>;  // the number of the last, by node

  std::vector<Refusal*> ByAge();

  std::map<std::string, Refusal> refused_;  // by the pod's UID
  Changes changed_;
  Changes fresh_;  // since ToWake was last called
  uint64_t changes_ = 0;
  std::shared_ptr<const std::vector<std::string>> nodes_;  // of the last refusal
};

}  // namespace tessera::scheduler
