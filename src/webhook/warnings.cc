// SPDX-License-Identifier: Apache-2.0
#include "webhook/warnings.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/quote.h"
#include "base/text.h"
#include "hami/device_selector.h"
#include "hami/names.h"
#include "hami/policies.h"

namespace tessera::webhook {
namespace {

constexpr int64_t kMostOfWeight = 1'000'000'000;

using Names = std::span<const std::string_view>;

bool IsIn(Names names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

std::string Named(Names names) {
  return Join(std::vector<std::string>(names.begin(), names.end()), ", ");
}

// Null if the pod has no such annotation.
const std::string* Annotation(const NewPod& pod, std::string_view key) {
  const auto found = pod.annotations.find(key);
  return found == pod.annotations.end() ? nullptr : &found->second;
}

std::optional<Request> RequestOf(const kube::Container& container, const RequestRules& rules) {
  return Resolve(container, rules).value_or(std::nullopt);
}

void WarnOfSizes(const NewPod& pod, const DeviceRules& rules, const MostDevices& most,
                 std::vector<std::string>& warnings) {
  for (const NewContainer& container : pod.containers) {
    // A container without a count also requests this size of each device.
    kube::Container counted = container.asked;
    counted.limits.try_emplace(rules.requests.count_name, "1");
    const auto request = RequestOf(counted, rules.requests);
    if (!request) continue;
    if (most.on_node > 0 && request->count > most.on_node) {
      warnings.push_back(fmt::format("container {} asks for {} of {}, but no node has more than {}",
                                     Brief(container.asked.name), request->count,
                                     rules.requests.count_name, most.on_node));
    }
    if (most.memory > 0 && request->memory > most.memory) {
      warnings.push_back(fmt::format(
          "container {} asks for {} MiB of each device, but no device here has more than {}",
          Brief(container.asked.name), request->memory, most.memory));
    }
  }
}

// Whether the text is one device policy or a valid combination.
bool IsDevicePolicy(std::string_view text) {
  if (IsIn(hami::kDevicePolicies, text)) return true;
  const std::vector<std::string> parts = hami::ListIn(text);
  return !parts.empty() && std::ranges::all_of(parts, [&](const std::string& part) {
    return IsIn(hami::kChainedPolicies, part);
  });
}

void WarnOfPolicies(const NewPod& pod, std::vector<std::string>& warnings) {
  const std::string* node = Annotation(pod, hami::kNodePolicy);
  if (node != nullptr && !IsIn(hami::kNodePolicies, *node)) {
    warnings.push_back(fmt::format("{}: {} is not a policy; use one of {}", hami::kNodePolicy,
                                   Brief(*node), Named(hami::kNodePolicies)));
  }
  const std::string* device = Annotation(pod, hami::kGpuPolicy);
  if (device != nullptr && !IsDevicePolicy(*device)) {
    warnings.push_back(fmt::format("{}: {} is not a policy; use one of {}, or a list of {}",
                                   hami::kGpuPolicy, Brief(*device), Named(hami::kDevicePolicies),
                                   Named(hami::kChainedPolicies)));
  }
}

// Must accept the same texts as Filter, which otherwise refuses the pod.
bool AreWeights(std::string_view text) {
  const auto weights = hami::ScoreWeightsOf(text);
  return weights &&
         std::max({weights->containers, weights->cores, weights->memory}) <= kMostOfWeight;
}

void WarnOfWeights(const NewPod& pod, std::vector<std::string>& warnings) {
  const std::string* weights = Annotation(pod, hami::kScoringWeights);
  if (weights == nullptr || AreWeights(*weights)) return;
  warnings.push_back(
      fmt::format("{}: {} is not valid; set three whole numbers, at least one above 0, such as "
                  "slot=1,core=1,memory=3",
                  hami::kScoringWeights, Brief(*weights)));
}

void WarnOfNodeChoices(const NewPod& pod, std::vector<std::string>& warnings) {
  const std::string* choices = Annotation(pod, hami::kNodeChoices);
  if (choices == nullptr || hami::NodeChoicesIn(*choices)) return;
  warnings.push_back(fmt::format("{}: {} is not valid; use a whole number from 1 to {}",
                                 hami::kNodeChoices, Brief(*choices), hami::kMostNodeChoices));
}

void WarnOfIds(const NewPod& pod, const DeviceRules& rules, std::vector<std::string>& warnings) {
  const std::string* ids = Annotation(pod, rules.vendor->use_id);
  if (ids == nullptr) return;
  const size_t named = hami::ListIn(*ids).size();
  for (const NewContainer& container : pod.containers) {
    const auto request = RequestOf(container.asked, rules.requests);
    if (named == 0 || !request || static_cast<size_t>(request->count) <= named) continue;
    warnings.push_back(fmt::format("{} names {}, but container {} asks for {} of {}",
                                   rules.vendor->use_id, Count(named, "device"),
                                   Brief(container.asked.name), request->count,
                                   rules.requests.count_name));
  }
}

}  // namespace

std::vector<std::string> WarningsFor(const NewPod& pod, const DeviceRules& rules,
                                     const MostDevices& most) {
  std::vector<std::string> warnings;
  if (!pod.node.empty()) {
    warnings.push_back(
        fmt::format("spec.nodeName {} bypasses the scheduler: that node's agent gives the pod free "
                    "devices, or the pod fails",
                    Brief(pod.node)));
  }
  WarnOfSizes(pod, rules, most, warnings);
  WarnOfPolicies(pod, warnings);
  WarnOfWeights(pod, warnings);
  WarnOfNodeChoices(pod, warnings);
  WarnOfIds(pod, rules, warnings);
  return warnings;
}

}  // namespace tessera::webhook
