// SPDX-License-Identifier: Apache-2.0
#include "scheduler/vendors.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <set>
#include <utility>

#include "base/text.h"
#include "hami/device_selector.h"
#include "hami/mig_slices.h"
#include "hami/names.h"
#include "hami/node_devices.h"
#include "hami/pod_devices.h"
#include "hami/pod_placement.h"
#include "hami/policies.h"
#include "placement/agent_mark.h"
#include "placement/quantity.h"
#include "placement/request_check.h"
#include "scheduler/whole_devices.h"

namespace tessera::scheduler {
namespace {

using hami::ServedVendor;
using hami::Vendor;

// The annotations that a user may set on a pod.
std::vector<std::string_view> UserKeysOf(const Vendor& vendor) {
  return {vendor.use_type,  vendor.no_use_type, vendor.use_id,
          vendor.no_use_id, vendor.use_mode,    vendor.numa_bind};
}

kube::Which OneOf(std::set<std::string, std::less<>> names) {
  names.erase("");
  return [names = std::make_shared<const std::set<std::string, std::less<>>>(std::move(names))](
             std::string_view name) { return names->contains(name); };
}

kube::PodFields PodFieldsOf(const std::vector<ServedVendor>& served) {
  // Prefixes of annotation keys.
  std::set<std::string, std::less<>> keys{std::string(hami::kNodeChoices)};
  std::set<std::string, std::less<>> resources;
  for (const ServedVendor& one : served) {
    for (const std::string_view key : UserKeysOf(*one.vendor)) keys.emplace(key);
    for (const std::string& name : ResourcesOf(one.rules)) resources.insert(name);
  }
  std::erase_if(keys, [](const std::string& key) { return key.starts_with("hami.io/"); });
  keys.erase("");
  keys.emplace("hami.io/");
  return {.keys = {keys.begin(), keys.end()},
          .resource = OneOf(std::move(resources)),
          .quota = true,
          .preferences = true};
}

kube::ClusterNodeFields NodeFieldsOf(const std::vector<ServedVendor>& served) {
  std::set<std::string, std::less<>> keys{std::string(hami::kNodeCordon),
                                          std::string(hami::kNodeLock), std::string(kAgentMark)};
  std::set<std::string, std::less<>> counts;
  for (const ServedVendor& one : served) {
    for (const std::string_view key :
         {one.vendor->node_register, one.vendor->node_score, one.vendor->node_mode}) {
      keys.emplace(key);
    }
    counts.insert(one.rules.count_name);
  }
  return {.annotation = OneOf(std::move(keys)), .resource = OneOf(std::move(counts))};
}

// The number of devices or shares that the vendor's plugin offers.
int64_t OfferedOn(const kube::ClusterNode& node, const ServedVendor& served) {
  const auto count = node.allocatable.find(served.rules.count_name);
  return count == node.allocatable.end() ? 0 : WholeQuantity(count->second).value_or(0);
}

void Cordon(const kube::ClusterNode& node, std::vector<CandidateDevice>& devices) {
  const auto cordoned = node.annotations.find(hami::kNodeCordon);
  if (cordoned == node.annotations.end()) return;
  const std::vector<std::string> ids = hami::ListIn(cordoned->second);
  for (CandidateDevice& device : devices) {
    device.cordoned = std::ranges::find(ids, device.capacity.device) != ids.end();
  }
}

std::string_view ModeOf(const kube::Pod& pod, const ServedVendor& served) {
  return Trim(pod.Annotation(served.vendor->use_mode));
}

Result<UsageByDevice> TakenOf(const kube::Pod& pod, const ServedVendor& served) {
  if (!pod.excess.empty()) return Fail(Reason::kBadDecision, "{}", pod.excess);
  const Vendor& vendor = *served.vendor;
  const auto allocated = TRY(hami::DecodePodDevices(pod.Annotation(vendor.pod_allocated)));
  const auto entries = TRY(hami::EntriesByContainer(
      pod.containers, served.RulesIn(ModeOf(pod, served)), vendor, allocated));
  PodPlacement placement;
  for (size_t i = 0; i < entries.size(); ++i) {
    if (entries[i].empty()) continue;
    placement.push_back(
        {pod.containers[i].name, pod.containers[i].kind, hami::PartsOf(entries[i])});
  }
  UsageByDevice usage = UsageOfPlacement(placement, &pod);
  if (vendor.has_agent) TRY(hami::AddSlices(pod.Annotation(hami::kPodMigAllocations), usage));
  return usage;
}

}  // namespace

Vendors::Vendors(std::vector<ServedVendor> served)
    : served_(std::move(served)),
      pod_fields_(PodFieldsOf(served_)),
      node_fields_(NodeFieldsOf(served_)) {}

const ServedVendor* Vendors::with_agent() const {
  const auto found = std::ranges::find_if(
      served_, [](const ServedVendor& served) { return served.vendor->has_agent; });
  return found == served_.end() ? nullptr : &*found;
}

Result<std::vector<CandidateDevice>> Vendors::DevicesOf(const kube::ClusterNode& node) const {
  std::vector<CandidateDevice> devices;
  for (size_t kind = 0; kind < served_.size(); ++kind) {
    auto of_kind = TRY(hami::NodeDevicesOf(node.annotations, *served_[kind].vendor));
    if (of_kind.empty()) continue;
    const bool lost = !served_[kind].vendor->has_agent &&
                      OfferedOn(node, served_[kind]) <= 0;  // its plugin is gone
    for (CandidateDevice& device : of_kind) {
      device.kind = static_cast<uint8_t>(kind);
      if (lost) device.healthy = false;
    }
    if (devices.empty()) {
      devices = std::move(of_kind);
    } else {
      devices.insert(devices.end(), std::make_move_iterator(of_kind.begin()),
                     std::make_move_iterator(of_kind.end()));
    }
  }
  Cordon(node, devices);
  return devices;
}

int64_t Vendors::WholeDevicesOn(const kube::ClusterNode& node) const {
  const ServedVendor* served = with_agent();
  return served == nullptr ? 0 : WholeDevicesOf(node, *served->vendor, served->rules);
}

Result<DeviceDemand> Vendors::DemandOf(const kube::Pod& pod, const Policies& policies) const {
  std::vector<const kube::Container*> containers;
  for (const kube::Container& container : pod.containers) containers.push_back(&container);
  std::vector<const RequestRules*> all;
  for (const ServedVendor& one : served_) all.push_back(&one.rules);
  const auto kind = RulesAskedBy(containers, all);
  if (!kind) return Fail(Error{Reason::kBadSize, kind.error().message});
  if (!*kind) return DeviceDemand();
  const ServedVendor& served = served_[**kind];
  const Vendor& vendor = *served.vendor;
  const RequestRules& rules = served.RulesIn(ModeOf(pod, served));
  const std::string_view policy = pod.Annotation(hami::kGpuPolicy);
  const auto weights = pod.annotations.find(hami::kScoringWeights);
  const bool weighed = weights != pod.annotations.end();
  DeviceDemand demand{
      .containers = TRY(AskingContainersOf(pod, rules)),
      .selector = TRY(hami::SelectorOf(pod, vendor)),
      .policy = hami::DevicePolicyOf(policy.empty() ? std::string_view(policies.device) : policy,
                                     hami::WantsOneNuma(pod, vendor)),
      .weights = weighed ? TRY(hami::ScoreWeightsOf(weights->second)) : policies.weights,
      .traits = vendor.traits,
      .kind = static_cast<uint8_t>(**kind)};
  demand.traits.several_whole = rules.several_whole;
  if (vendor.together != Together::kAnywhere) demand.policy.together = vendor.together;
  demand.policy.several_closest = vendor.several_closest;
  return demand;
}

std::optional<Result<TakenDevices>> Vendors::TakenBy(const kube::Pod& pod) const {
  std::optional<TakenDevices> taken;
  for (size_t kind = 0; kind < served_.size(); ++kind) {
    if (!hami::IsPlaced(pod, *served_[kind].vendor)) continue;
    auto usage = TakenOf(pod, served_[kind]);
    if (!usage) return Fail(usage.error());
    if (!taken) {
      taken = TakenDevices{*std::move(usage), static_cast<uint8_t>(kind)};
    } else {
      for (const auto& [device, more] : *usage) taken->usage[device] += more;
    }
  }
  if (!taken) return std::nullopt;
  return *std::move(taken);
}

}  // namespace tessera::scheduler
