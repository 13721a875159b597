// SPDX-License-Identifier: Apache-2.0
// The laws the demo checks while it plays: what must hold whatever happens to the devices, the
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
  kOneHolder,    // no share is granted to two running containers
  kHealthyOnly,  // no share is granted that was Unhealthy at that moment
  kExact,        // a container gets exactly as many as it asked for, and its environment names them
  kHeldStays,    // a device that a pod holds never leaves the list
  kNothingLost,  // no restart loses a device or makes a sound one Unhealthy
  kExactLimits,  // a container may use of virtual GPUs exactly what its shares were worth
  kLedgerAgrees,  // the agent's ledger names exactly what kubelet granted
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

// One line a container and resource, for comparing two views of who holds what. Holdings without a
// pod's name are left out: those of init containers, which are over.
std::set<std::string> LedgerLines(const std::vector<Holding>& holdings);

class Laws {
 public:
  // What this observation breaks; empty nearly always.
  std::vector<Breach> Check(const Observation& observation);

  // How often each law was looked at.
  const std::map<Law, int>& checked() const { return checked_; }

 private:
  using ShareKey = std::pair<std::string, std::string>;  // resource, share id
  struct Holder {
    std::string pod;
    std::string container;
    kubelet::ContainerSpec::Kind kind;
  };
  // What one resource's list said of one share.
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
  void Looked(Law law) { ++checked_[law]; }
  void Break(Law law, std::string text) { breaches_.push_back({law, std::move(text)}); }

  std::map<Law, int> checked_;
  std::vector<Breach> breaches_;  // of the observation being checked
  std::map<ShareKey, std::vector<Holder>> holders_;
  std::map<std::string, std::string> envs_;  // by resource
  std::map<std::string, List> lists_;        // by resource, the last list seen
  // Devices the scenario has touched: they may turn Unhealthy from then on. An empty id stands for
  // all of the resource, an empty resource for any that has the device.
  std::set<ShareKey> excused_;
  HardwareNames names_;
  Worth worth_;
  std::set<std::pair<std::string, std::string>> unstarted_;  // pod, container: refused by pre-start
};

}  // namespace tessera::demo
