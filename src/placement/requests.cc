// SPDX-License-Identifier: Apache-2.0
#include "placement/requests.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <set>

#include "base/quote.h"
#include "base/text.h"
#include "placement/quantity.h"

namespace tessera {
namespace {

constexpr int64_t kMostOfInt32 = std::numeric_limits<int32_t>::max();

// The limit, else the request, else null.
const std::string* LimitOrRequest(const kube::Container& container, const std::string& resource) {
  for (const auto* asked : {&container.limits, &container.requests}) {
    const auto found = asked->find(resource);
    if (found != asked->end()) return &found->second;
  }
  return nullptr;
}

// Nothing if there is no request, or its text is no integer.
std::optional<int64_t> NumberAskedFor(const kube::Container& container,
                                      const std::string& resource) {
  const std::string* asked = LimitOrRequest(container, resource);
  return asked == nullptr ? std::nullopt : WholeQuantity(*asked);
}

tl::unexpected<Error> NotBelowLimit(const kube::Container& container, const std::string& resource) {
  return Fail(Reason::kInvalid, "container {} asks for {} of {}, which is not a number below 2^31",
              Brief(container.name), Brief(*LimitOrRequest(container, resource)), resource);
}

Result<int32_t> MemoryOf(const kube::Container& container, const RequestRules& rules) {
  if (LimitOrRequest(container, rules.memory_name) == nullptr) return 0;
  const int64_t factor = std::max(rules.memory_factor, 1);
  const auto memory = NumberAskedFor(container, rules.memory_name);
  if (!memory || *memory < 0 || *memory > kMostOfInt32 / factor) {
    return NotBelowLimit(container, rules.memory_name);
  }
  return static_cast<int32_t>(*memory * factor);
}

Result<int32_t> MemoryInSizes(const kube::Container& container, const RequestRules& rules) {
  const int32_t asked = TRY(MemoryOf(container, rules));
  if (asked == 0 || rules.sizes.empty()) return asked;
  if (const auto size = SizeFor(asked, rules)) return *size;
  return Fail(Reason::kInvalid,
              "container {} asks for {} MiB by {}, and no device has more than {}",
              Brief(container.name), asked, rules.memory_name, rules.most_memory);
}

int32_t Percent(int64_t number) {
  return static_cast<int32_t>(std::clamp<int64_t>(number, 0, 100));
}

std::string CoresText(int32_t cores, const DeviceCapacity& capacity) {
  return capacity.has_units ? Count(static_cast<size_t>(std::max(cores, 0)), "compute unit")
                            : fmt::format("{} % of the cores", cores);
}

// The limiter takes 0 as no limit, so 0 is refused.
Status CheckPart(const Fraction& part, const Request& request, const DeviceCapacity& capacity) {
  const int32_t memory = request.MemoryOn(capacity.memory);
  if (part.memory <= 0 || part.memory > memory) {
    return Fail(Reason::kInvalid, "{} MiB of {}, where the container asks for {}", part.memory,
                Brief(part.device), memory);
  }
  const int32_t asked = CoresOn(request, capacity);
  const int32_t least = asked == 0 ? 0 : 1;
  const int32_t most = asked == 0 ? 100 : asked;
  if (part.cores < least || part.cores > most) {
    return Fail(Reason::kInvalid, "{} of {}, where the container asks for {}",
                CoresText(part.cores, capacity), Brief(part.device), asked);
  }
  return {};
}

}  // namespace

std::optional<int32_t> SizeFor(int64_t memory, const RequestRules& rules) {
  if (memory > std::max(rules.most_memory, rules.sizes.back())) return std::nullopt;
  const auto size = std::ranges::lower_bound(rules.sizes, memory);
  return size == rules.sizes.end() ? rules.sizes.back() : *size;
}

int32_t UnitsOf(const Request& request, int32_t units) {
  const int64_t percent = request.cores == 0 ? kAllCores : request.cores;
  return static_cast<int32_t>(std::max<int64_t>(units * percent / kAllCores, 1));
}

int32_t CoresOn(const Request& request, const DeviceCapacity& capacity) {
  return capacity.has_units ? UnitsOf(request, capacity.cores) : request.cores;
}

int32_t Request::MemoryOn(int32_t total) const {
  if (memory > 0) return memory;
  return static_cast<int32_t>(int64_t{total} * percentage / 100);
}

Result<std::optional<Request>> Resolve(const kube::Container& container,
                                       const RequestRules& rules) {
  const auto count = NumberAskedFor(container, rules.count_name);
  if (!count || *count <= 0) return std::nullopt;
  if (*count > kMostOfInt32) return NotBelowLimit(container, rules.count_name);
  Request request;
  request.count = static_cast<int32_t>(CountFor(*count, rules));
  request.memory = TRY(MemoryInSizes(container, rules));
  request.percentage = Percent(NumberAskedFor(container, rules.percentage_name).value_or(0));
  const bool has_sizes = !rules.memory_name.empty() || !rules.percentage_name.empty();
  if (has_sizes && !request.HasSize()) {
    request.memory = std::max(rules.default_memory, 0);
    if (request.memory == 0) request.percentage = 100;
  }
  request.cores =
      Percent(NumberAskedFor(container, rules.cores_name).value_or(rules.default_cores));
  if (rules.several_cores && request.count > 1) request.cores = kAllCores;
  return request;
}

Status CheckParts(std::span<const Fraction> parts, const Request& request,
                  std::span<const DeviceCapacity> capacities) {
  if (parts.size() != static_cast<size_t>(request.count)) {
    return Fail(Reason::kInvalid, "{}, where the container asks for {}",
                Count(parts.size(), "device"), request.count);
  }
  std::set<std::string_view> seen;
  for (const Fraction& part : parts) {
    const auto capacity = std::ranges::find(capacities, part.device, &DeviceCapacity::device);
    if (capacity == capacities.end()) {
      return Fail(Reason::kInvalid, "{} is not a card of this node", Brief(part.device));
    }
    if (!seen.insert(part.device).second) {
      return Fail(Reason::kInvalid, "{} is there twice", Brief(part.device));
    }
    TRY(CheckPart(part, request, *capacity));
  }
  return {};
}

std::string LessThanAsked(std::span<const Fraction> parts, const Request& request,
                          std::span<const DeviceCapacity> capacities) {
  std::vector<std::string> less;
  for (const Fraction& part : parts) {
    const auto capacity = std::ranges::find(capacities, part.device, &DeviceCapacity::device);
    if (capacity == capacities.end()) continue;
    const int32_t memory = request.MemoryOn(capacity->memory);
    if (part.memory < memory) {
      less.push_back(
          fmt::format("{} MiB of {} instead of {}", part.memory, Brief(part.device), memory));
    }
    const int32_t asked = CoresOn(request, *capacity);
    const int32_t cores = asked == 0 ? 100 : asked;
    if (part.cores > 0 && part.cores < cores) {
      less.push_back(fmt::format("{} of {} instead of {}", CoresText(part.cores, *capacity),
                                 Brief(part.device), cores));
    }
  }
  return Join(less, ", ");
}

}  // namespace tessera
