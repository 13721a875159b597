// SPDX-License-Identifier: Apache-2.0
#include "placement/asked_sizes.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "base/characters.h"
#include "base/quote.h"
#include "placement/quantity.h"

namespace tessera {
namespace {

constexpr std::string_view kKeys[] = {kMemoryKey, kPercentageKey, kCoresKey};

// The sizes from one place. Nothing: not given there.
struct AskedFor {
  std::optional<int32_t> memory;      // MiB
  std::optional<int32_t> percentage;  // of a card's memory
  std::optional<int32_t> cores;       // percent

  bool size() const { return memory || percentage; }
};

bool IsNumber(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, IsDigit);
}

// A text with a unit is in bytes, as in Kubernetes.
std::optional<int64_t> MibIn(std::string_view text) {
  if (IsNumber(text)) return WholeQuantity(text);
  const bool unit = text.ends_with("Mi") || text.ends_with("Gi") || text.ends_with("Ti");
  const auto bytes = unit ? WholeQuantity(text) : std::nullopt;
  constexpr int64_t kMib = int64_t{1} << 20;
  if (!bytes || *bytes % kMib != 0) return std::nullopt;
  return *bytes / kMib;
}

Result<std::optional<int32_t>> ReadMemory(const kube::Pod& pod, const std::string& key) {
  const auto found = pod.annotations.find(key);
  if (found == pod.annotations.end()) return std::nullopt;
  const auto memory = MibIn(found->second);
  if (memory && *memory > 0 && *memory <= std::numeric_limits<int32_t>::max()) {
    return static_cast<int32_t>(*memory);
  }
  return Fail(Reason::kInvalid,
              "annotation {} is {}: write how many MiB of each GPU, '3000', or a size with its "
              "unit, '3000Mi' or '3Gi'",
              key, Brief(found->second));
}

Result<std::optional<int32_t>> ReadPercent(const kube::Pod& pod, const std::string& key,
                                           int least) {
  const auto found = pod.annotations.find(key);
  if (found == pod.annotations.end()) return std::nullopt;
  const auto percent = IsNumber(found->second) ? WholeQuantity(found->second) : std::nullopt;
  if (percent && *percent >= least && *percent <= 100) return static_cast<int32_t>(*percent);
  return Fail(Reason::kInvalid, "annotation {} is {}: write a percentage, a number from {} to 100",
              key, Brief(found->second), least);
}

// `suffix`: "." and the container's name, or empty for the pod's.
Result<AskedFor> SaidBy(const kube::Pod& pod, const std::string& suffix) {
  AskedFor said;
  said.memory = TRY(ReadMemory(pod, kMemoryKey + suffix));
  said.percentage = TRY(ReadPercent(pod, kPercentageKey + suffix, 1));
  said.cores = TRY(ReadPercent(pod, kCoresKey + suffix, 0));
  if (!said.memory || !said.percentage) return said;
  return Fail(Reason::kInvalid, "annotations {0}{2} and {1}{2} both set the memory; remove one",
              kMemoryKey, kPercentageKey, suffix);
}

// Without this check, a container with a mistyped key would get the default: a whole GPU.
Status CheckKeys(const kube::Pod& pod) {
  for (auto it = pod.annotations.lower_bound(kSizeKeys);
       it != pod.annotations.end() && it->first.starts_with(kSizeKeys); ++it) {
    const std::string_view key = it->first;
    const size_t end = std::min(key.find('.', std::string_view(kSizeKeys).size()), key.size());
    if (std::ranges::find(kKeys, key.substr(0, end)) == std::end(kKeys)) {
      return Fail(Reason::kInvalid, "annotation {} is unknown; the known ones are {}, {} and {}",
                  Brief(key), kMemoryKey, kPercentageKey, kCoresKey);
    }
    if (end == key.size()) continue;
    const std::string_view container = key.substr(end + 1);
    if (std::ranges::find(pod.containers, container, &kube::Container::name) ==
        pod.containers.end()) {
      return Fail(Reason::kInvalid, "annotation {}: the pod has no container {}", Brief(key),
                  Brief(container));
    }
  }
  return {};
}

bool Limits(const kube::Container& container, const std::string& resource) {
  return container.limits.contains(resource) || container.requests.contains(resource);
}

tl::unexpected<Error> Contradiction(const kube::Container& container, std::string_view what) {
  return Fail(
      Reason::kInvalid,
      "its limits and the annotations that end with .{} set different {}; remove one of them",
      Brief(container.name), what);
}

// Annotations may repeat the limits but not contradict them.
Status CheckAgainstLimits(const AskedFor& own, const kube::Container& container,
                          const RequestRules& rules, const Request& limits) {
  const bool size =
      Limits(container, rules.memory_name) || Limits(container, rules.percentage_name);
  if (own.size() && size &&
      (own.memory.value_or(0) != limits.memory ||
       own.percentage.value_or(0) != limits.percentage)) {
    return Contradiction(container, "sizes");
  }
  if (own.cores && Limits(container, rules.cores_name) && *own.cores != limits.cores) {
    return Contradiction(container, "compute times");
  }
  return {};
}

}  // namespace

Result<std::optional<Request>> ResolveSizes(const kube::Pod& pod, const kube::Container& container,
                                            const RequestRules& rules) {
  auto request = TRY(Resolve(container, rules));
  if (!request) return request;
  TRY(CheckKeys(pod));
  const AskedFor own = TRY(SaidBy(pod, "." + container.name));
  const AskedFor all = TRY(SaidBy(pod, ""));
  TRY(CheckAgainstLimits(own, container, rules, *request));
  const AskedFor& size = own.size() ? own : all;
  if (size.size() && !Limits(container, rules.memory_name) &&
      !Limits(container, rules.percentage_name)) {
    request->memory = size.memory.value_or(0);
    request->percentage = size.percentage.value_or(0);
  }
  const auto cores = own.cores ? own.cores : all.cores;
  if (cores && !Limits(container, rules.cores_name)) request->cores = *cores;
  return request;
}

}  // namespace tessera
