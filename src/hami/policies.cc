// SPDX-License-Identifier: Apache-2.0
#include "hami/policies.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <vector>

#include "base/quote.h"
#include "base/text.h"
#include "hami/device_selector.h"
#include "hami/names.h"
#include "hami/text_numbers.h"

namespace tessera::hami {
namespace {

constexpr std::string_view kBinpack = "binpack";
constexpr std::string_view kSpread = "spread";
constexpr std::string_view kMutex = "mutex";
constexpr std::string_view kNuma = "numa";
constexpr std::string_view kTopology = "topology-aware";

using Names = std::vector<std::string>;

bool Has(const Names& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

// The keys of a list: those of its names, in order.
std::vector<DeviceOrder> KeysOfList(const Names& names, bool numa_bind) {
  std::vector<DeviceOrder> keys;
  for (const std::string& name : names) {
    if (name == kBinpack) keys.push_back(FullestFirst);
    if (name == kSpread) keys.push_back(EmptiestFirst);
    if (name == kNuma) keys.push_back(HighestNumaFirst);
  }
  if (keys.empty()) keys.push_back(EmptiestFirst);
  if (numa_bind && keys.front() != HighestNumaFirst) keys.insert(keys.begin(), HighestNumaFirst);
  return keys;
}

// The keys of a single name. NUMA nodes only break ties, but come first with numa_bind.
std::vector<DeviceOrder> KeysOfOne(std::string_view name, bool numa_bind) {
  if (name == kMutex) return {HighestNumaFirst};
  if (name == kBinpack) {
    if (numa_bind) return {LowestNumaFirst, FullestFirst};
    return {FullestFirst, HighestNumaFirst};
  }
  if (numa_bind) return {HighestNumaFirst, EmptiestFirst};
  return {EmptiestFirst, HighestNumaFirst};
}

constexpr std::array<std::string_view, 3> kWeights = {"slot", "core", "memory"};

tl::unexpected<Error> NoWeights(std::string_view text, std::string_view why) {
  return Fail(Reason::kInvalid, "{} is {}: {}; write weights such as 'slot=1,core=1,memory=3'",
              kScoringWeights, Brief(text), why);
}

std::optional<int64_t> NumberIn(std::string_view text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

std::optional<int32_t> NodeChoicesIn(std::string_view text) {
  const auto choices = ParseInt32(Trim(text));
  if (!choices || *choices < 1 || *choices > kMostNodeChoices) return std::nullopt;
  return *choices;
}

DevicePolicy DevicePolicyOf(std::string_view names, bool numa_bind) {
  const Names list = ListIn(names);
  const bool chain = names.find(',') != std::string_view::npos || Has(list, kNuma);
  return {.keys = chain ? KeysOfList(list, numa_bind)
                        : KeysOfOne(list.empty() ? kSpread : list.front(), numa_bind),
          .alone = Has(list, kMutex),
          .together = numa_bind ? Together::kOneNuma : Together::kAnywhere,
          .closest = Has(list, kTopology)};
}

bool WantsOneNuma(const kube::Pod& pod, const Vendor& vendor) {
  return ParseBool(pod.Annotation(vendor.numa_bind)).value_or(false);
}

Result<ScoreWeights> ScoreWeightsOf(std::string_view text) {
  std::array<std::optional<int64_t>, kWeights.size()> numbers;
  for (const std::string& part : Split(text, ',')) {
    const size_t equals = std::min(part.find('='), part.size());
    const std::string_view name = Trim(std::string_view(part).substr(0, equals));
    const auto known = std::ranges::find(kWeights, name);
    if (known == kWeights.end()) return NoWeights(text, "it has an unknown name");
    auto& number = numbers[static_cast<size_t>(known - kWeights.begin())];
    if (number) return NoWeights(text, "a weight is there twice");
    number = NumberIn(Trim(std::string_view(part).substr(std::min(equals + 1, part.size()))));
    if (!number || *number < 0)
      return NoWeights(text, "a weight is not a whole number of 0 or more");
  }
  if (std::ranges::any_of(numbers, [](const auto& number) { return !number; })) {
    return NoWeights(text, "a weight is missing");
  }
  if (std::ranges::all_of(numbers, [](const auto& number) { return *number == 0; })) {
    return NoWeights(text, "all weights are 0");
  }
  return ScoreWeights{.containers = *numbers[0], .cores = *numbers[1], .memory = *numbers[2]};
}

}  // namespace tessera::hami
