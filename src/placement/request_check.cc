// SPDX-License-Identifier: Apache-2.0
#include "placement/request_check.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <string_view>

#include "base/characters.h"
#include "base/quote.h"
#include "placement/quantity.h"

namespace tessera {
namespace {

constexpr int64_t kMostAsked = std::numeric_limits<int32_t>::max();

// The amount's text, or null if there is none.
const std::string* In(const kube::Texts& amounts, const std::string& resource) {
  const auto found = resource.empty() ? amounts.end() : amounts.find(resource);
  return found == amounts.end() ? nullptr : &found->second;
}

// Only a valid 0 counts as no request.
bool IsAsked(const kube::Container& container, const std::string& resource) {
  return std::ranges::any_of(std::array{&container.limits, &container.requests}, [&](auto amounts) {
    const std::string* text = In(*amounts, resource);
    return text != nullptr && WholeQuantity(*text) != 0;
  });
}

// The API server requires a limit for each extended resource, and an equal request if there is one.
Status CheckBoth(const kube::Container& container, const std::string& resource) {
  const std::string* limit = In(container.limits, resource);
  const std::string* request = In(container.requests, resource);
  if (request == nullptr) return {};
  if (limit == nullptr) {
    return Fail(Reason::kInvalid,
                "container {} has {} only in its requests; put it into its limits",
                Brief(container.name), resource);
  }
  const auto number = WholeQuantity(*limit);
  const bool same = *limit == *request || (number && number == WholeQuantity(*request));
  if (same) return {};
  return Fail(Reason::kInvalid,
              "container {} has {} of {} in its limits and {} in its requests; make them equal, or "
              "set only the limit",
              Brief(container.name), Brief(*limit), resource, Brief(*request));
}

// A unit of a million or more: the user means bytes, but the resource counts MiB.
bool HasLargeUnit(std::string_view text) {
  if (text.ends_with('i')) text.remove_suffix(1);
  const size_t digits = text.find_first_of("MGTPE");
  return digits != text.npos && digits == text.size() - 1 &&
         std::ranges::all_of(text.substr(0, digits),
                             [](char c) { return IsDigit(c) || c == '.' || c == '+' || c == '-'; });
}

// The amount in the resource's unit for a text in bytes. Empty if it cannot be derived.
std::string InMib(std::string_view text, int64_t factor) {
  const auto bytes = HasLargeUnit(text) ? WholeQuantity(text) : std::nullopt;
  const int64_t unit = factor << 20;
  if (!bytes || *bytes <= 0 || *bytes / unit >= kMostAsked / factor) return "";
  return fmt::format(", such as {}", (*bytes / unit) + (*bytes % unit == 0 ? 0 : 1));
}

// The unit of a resource, and its maximum.
struct Measure {
  std::string resource;
  std::string unit;  // for messages
  int64_t most = kMostAsked;
};

tl::unexpected<Error> NotMeant(const kube::Container& container, const Measure& measure,
                               std::string_view text, std::string_view instead) {
  return Fail(
      Reason::kInvalid, "container {} asks for {} of {}: write {}, a whole number from 0 to {}{}",
      Brief(container.name), Brief(text), measure.resource, measure.unit, measure.most, instead);
}

Status CheckAmount(const kube::Container& container, const Measure& measure) {
  const std::string* text = In(container.limits, measure.resource);
  const auto number = text == nullptr ? 0 : WholeQuantity(*text);
  if (number && *number >= 0 && *number <= measure.most) return {};
  return NotMeant(container, measure, *text, "");
}

Status CheckMemory(const kube::Container& container, const RequestRules& rules) {
  const std::string* text = In(container.limits, rules.memory_name);
  if (text == nullptr) return {};
  const int64_t factor = std::max(rules.memory_factor, 1);
  const Measure measure{.resource = rules.memory_name,
                        .unit = factor == 1
                                    ? "how many MiB of each device"
                                    : fmt::format("how many times {} MiB of each device", factor),
                        .most = (rules.sizes.empty() ? kMostAsked : rules.most_memory) / factor};
  if (!HasLargeUnit(*text)) return CheckAmount(container, measure);
  return NotMeant(container, measure, *text, " without a unit" + InMib(*text, factor));
}

Status CheckCores(const kube::Container& container, const RequestRules& rules, int64_t count) {
  Measure measure{.resource = rules.cores_name,
                  .unit = "a percentage of each device's compute time",
                  .most = 100};
  if (!rules.cores_need.empty() && IsAsked(container, rules.cores_name)) {
    return Fail(Reason::kInvalid,
                "container {} asks for {}, which needs {}: add that, or leave it out",
                Brief(container.name), rules.cores_name, rules.cores_need);
  }
  if (!rules.several_cores || count <= 1) return CheckAmount(container, measure);
  const std::string* text = In(container.limits, rules.cores_name);
  const int64_t all = count * measure.most;
  if (text == nullptr || WholeQuantity(*text) == all) return {};
  return Fail(Reason::kInvalid,
              "container {} asks for {} of {} and for {} whole devices; write {}, or leave it out",
              Brief(container.name), Brief(*text), rules.cores_name, count, all);
}

// Checks devices that come in steps or only whole.
Status CheckSeveral(const kube::Container& container, const RequestRules& rules, int64_t count) {
  if (count % rules.count_step != 0) {
    return Fail(Reason::kInvalid,
                "container {} asks for {} of {}, which are granted in groups of {}; write a "
                "multiple of that",
                Brief(container.name), count, rules.count_name, rules.count_step);
  }
  if (!rules.several_whole || rules.sizes.empty() || count <= 1) return {};
  const std::string* text = In(container.limits, rules.memory_name);
  const auto memory = text == nullptr ? 0 : WholeQuantity(*text).value_or(0);
  const int64_t factor = std::max(rules.memory_factor, 1);
  if (memory == 0 || SizeFor(memory * factor, rules) == rules.sizes.back()) return {};
  return Fail(Reason::kInvalid,
              "container {} asks for {} of {} and for a part of each by {}; several devices are "
              "granted whole only, so ask for one or leave out the part",
              Brief(container.name), count, rules.count_name, rules.memory_name);
}

// The first resource of the rules that the container requests, or empty.
std::string FirstAskedOf(const kube::Container& container, const RequestRules& rules) {
  for (std::string& name : ResourcesOf(rules)) {
    if (IsAsked(container, name)) return std::move(name);
  }
  return "";
}

Status CheckContradictions(const kube::Container& container, const RequestRules& rules) {
  if (IsAsked(container, rules.memory_name) && IsAsked(container, rules.percentage_name)) {
    return Fail(Reason::kInvalid, "container {} asks for {} and {}, which set the same; remove one",
                Brief(container.name), rules.memory_name, rules.percentage_name);
  }
  if (In(container.limits, rules.count_name) == nullptr || IsAsked(container, rules.count_name) ||
      !AsksForAny(container, rules)) {
    return {};
  }
  return Fail(Reason::kInvalid,
              "container {} asks for parts of 0 of {}: write how many, or leave out the parts",
              Brief(container.name), rules.count_name);
}

}  // namespace

std::vector<std::string> ResourcesOf(const RequestRules& rules) {
  std::vector<std::string> names{rules.count_name, rules.memory_name, rules.percentage_name,
                                 rules.cores_name};
  std::erase(names, "");
  return names;
}

bool AsksForAny(const kube::Container& container, const RequestRules& rules) {
  return std::ranges::any_of(ResourcesOf(rules),
                             [&](const std::string& name) { return IsAsked(container, name); });
}

Result<std::optional<size_t>> RulesAskedBy(std::span<const kube::Container* const> containers,
                                           std::span<const RequestRules* const> rules) {
  std::optional<size_t> found;
  std::string first;  // name, for messages
  for (size_t i = 0; i < rules.size(); ++i) {
    for (const kube::Container* container : containers) {
      const std::string resource = FirstAskedOf(*container, *rules[i]);
      if (resource.empty()) continue;
      if (found) {
        return Fail(Reason::kInvalid,
                    "{}, and container {} for {}: no node has devices of both; make a pod for each",
                    first, Brief(container->name), resource);
      }
      found = i;
      first = fmt::format("container {} asks for {}", Brief(container->name), resource);
      break;
    }
  }
  return found;
}

Status CheckRequest(const kube::Container& container, const RequestRules& rules) {
  for (const std::string& resource : ResourcesOf(rules)) TRY(CheckBoth(container, resource));
  TRY(CheckAmount(container, {.resource = rules.count_name, .unit = "how many devices"}));
  TRY(CheckMemory(container, rules));
  TRY(CheckAmount(container, {.resource = rules.percentage_name,
                              .unit = "a percentage of each device's memory",
                              .most = 100}));
  const std::string* text = In(container.limits, rules.count_name);
  const int64_t count = CountFor(text == nullptr ? 0 : WholeQuantity(*text).value_or(0), rules);
  TRY(CheckCores(container, rules, count));
  TRY(CheckSeveral(container, rules, count));
  return CheckContradictions(container, rules);
}

}  // namespace tessera
