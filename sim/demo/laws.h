// SPDX-License-Identifier: Apache-2.0
// The laws that the demo checks while it plays. They must hold whatever happens to the devices, the
// agent and kubelet. Pure over observations; one thread.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/demo/observation.h"
#include "sim/demo/worth.h"

namespace tessera::demo {

enum class Law : uint8_t {
  kOneHolder,     // no share is granted to two running containers
  kHealthyOnly,   // no share is granted while it is Unhealthy
  kExact,         // a container gets as many as it asked for, and its environment names them
  kHeldStays,     // a device that a pod holds never leaves the list
  kNothingLost,   // no restart loses a device or makes a healthy one Unhealthy
  kExactLimits,   // a container's limits on virtual GPUs equal its shares
  kLedgerAgrees,  // the agent's ledger equals kubelet's grants
};
inline constexpr std::array kAllLaws = {Law::kOneHolder,   Law::kHealthyOnly, Law::kExact,
                                        Law::kHeldStays,   Law::kNothingLost, Law::kExactLimits,
                                        Law::kLedgerAgrees};
std::string_view LawName(Law law);  // "one-holder"
std::string_view LawText(Law law);  // "no share is granted to two running containers"

struct Breach {
  Law law;
  std::string text;  // what was seen, with names
  bool operator==(const Breach&) const = default;
};

// One line for each container and resource, to compare two ledgers. Holdings without a pod's name
// are left out: they are of init containers, which have ended.
std::set<std::string> LedgerLines(const std::vector<Holding>& holdings);

class Laws {
 public:
  // The laws that this observation breaks; usually none.
  std::vector<Breach> Check(const Observation& observation);

  // The number of checks of each law.
  const std::map<Law, int>& checked() const { return checked_; }

 private:
  using ShareKey = std::pair<std::string, std::string>;  // resource, share id
  struct Holder {
    std::string pod;
    std::string container;
    kubelet::ContainerSpec::Kind kind;
  };
  // One resource's list: the health of each share.
  using List = std::map<std::string, bool>;  // id -> healthy

  void CheckPod(const PodTried& tried);
  void CheckGrant(const PodTried& tried, const kubelet::ContainerGrant& grant);
  void CheckHolders(const PodTried& tried, const kubelet::ContainerGrant& grant);
  void CheckExact(const PodTried& tried, const kubelet::ContainerGrant& grant);
  void CheckList(const kubelet::ResourceStatus& resource);
  void CheckLimits(const LimitsRead& read);
  void CheckLedger(const LedgerRead& read);
  void Excuse(const std::string& resource, const std::string& device);
  bool Excused(const std::string& resource, const std::string& share) const;
  void TurnedUnhealthy(const std::string& resource, const std::string& share);
  void BreakNothingLost(const std::string& resource, const std::string& share);
  bool IsOfAnother(const std::string& resource, const std::string& share) const;
  void JudgeDoubts();
  void Looked(Law law) { ++checked_[law]; }
  void Break(Law law, std::string text) { breaches_.push_back({law, std::move(text)}); }

  std::map<Law, int> checked_;
  std::vector<Breach> breaches_;  // of the current observation
  std::map<ShareKey, std::vector<Holder>> holders_;
  std::map<std::string, std::string> envs_;  // by resource
  std::map<std::string, List> lists_;        // by resource, the last list
  // Devices that the scenario has touched, so they may turn Unhealthy. An empty id stands for all
  // of the resource, an empty resource for any with the device.
  std::set<ShareKey> excused_;
  // The resources by whose grants pods had a part, by the part. A device is Unhealthy while a pod
  // has a part of it by another resource.
  std::map<std::string, std::set<std::string>> granted_;
  std::set<std::string> paired_;  // resources of pairs, and of their parts
  // Shares of these that turned Unhealthy. Perhaps a pod gets a part by another resource, which is
  // told once it is admitted; or the agent does not know yet whether a pod has one.
  std::set<ShareKey> doubts_;
  HardwareNames names_;
  Worth worth_;
  std::set<std::pair<std::string, std::string>> unstarted_;  // pod, container: refused by pre-start
};

}  // namespace tessera::demo
