// SPDX-License-Identifier: Apache-2.0
#include "hami/requests.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>

#include "base/quote.h"
#include "base/text.h"
#include "hami/quantity.h"

namespace tessera::hami {
namespace {

constexpr int64_t kMostOfInt32 = std::numeric_limits<int32_t>::max();

// The limit, or else the request; nullptr when the container has neither.
const std::string* AskedFor(const Container& container, const std::string& resource) {
  for (const auto* asked : {&container.limits, &container.requests}) {
    const auto found = asked->find(resource);
    if (found != asked->end()) return &found->second;
  }
  return nullptr;
}

// Nothing when nothing is asked, or no whole number.
std::optional<int64_t> NumberAskedFor(const Container& container, const std::string& resource) {
  const std::string* asked = AskedFor(container, resource);
  return asked == nullptr ? std::nullopt : WholeQuantity(*asked);
}

tl::unexpected<Error> NotBelowLimit(const Container& container, const std::string& resource) {
  return Fail(Reason::kInvalid, "container {} asks for {} of {}, which is no number below 2^31",
              Brief(container.name), Brief(*AskedFor(container, resource)), resource);
}

Result<int32_t> MemoryOf(const Container& container, const RequestRules& rules) {
  if (AskedFor(container, rules.memory_name) == nullptr) return 0;
  const int64_t factor = std::max(rules.memory_factor, 1);
  const auto memory = NumberAskedFor(container, rules.memory_name);
  if (!memory || *memory < 0 || *memory > kMostOfInt32 / factor) {
    return NotBelowLimit(container, rules.memory_name);
  }
  return static_cast<int32_t>(*memory * factor);
}

int32_t Percent(int64_t number) {
  return static_cast<int32_t>(std::clamp<int64_t>(number, 0, 100));
}

bool Asks(const Container& container, const RequestRules& rules) {
  const auto request = Resolve(container, rules);
  return request && request->has_value();
}

// Places of the containers, in the order in which kubelet admits them.
std::vector<size_t> ByStart(std::span<const Container> containers) {
  std::vector<size_t> order(containers.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_partition(
      order, [&](size_t i) { return containers[i].kind != ContainerKind::kApp; });
  return order;
}

Status CheckMigDevice(const PodDevice& device, const RegisteredDevice& card) {
  const bool known = std::ranges::any_of(card.mig_profiles, [&](const MigProfile& profile) {
    return profile.memory == device.memory && profile.core == device.cores;
  });
  if (known) return {};
  return Fail(Reason::kInvalid, "{} MiB and {} % of the cores of {} are none of its MIG profiles",
              device.memory, device.cores, Brief(device.uuid));
}

// Nothing is no limit: the library in the container takes it so.
Status CheckDevice(const PodDevice& device, const Request& request, const RegisteredDevice& card) {
  if (card.mode == kModeMig) return CheckMigDevice(device, card);
  const int32_t memory = request.MemoryOn(card.devmem);
  if (device.memory <= 0 || device.memory > memory) {
    return Fail(Reason::kInvalid, "{} MiB of {}, where the container asks for {}", device.memory,
                Brief(device.uuid), memory);
  }
  const int32_t least = request.cores == 0 ? 0 : 1;
  const int32_t most = request.cores == 0 ? 100 : request.cores;
  if (device.cores < least || device.cores > most) {
    return Fail(Reason::kInvalid, "{} % of the cores of {}, where the container asks for {}",
                device.cores, Brief(device.uuid), request.cores);
  }
  return {};
}

CardUsage Sum(const CardUsage& a, const CardUsage& b) {
  return {a.slots + b.slots, a.memory + b.memory, a.cores + b.cores};
}

CardUsage Largest(const CardUsage& a, const CardUsage& b) {
  return {std::max(a.slots, b.slots), std::max(a.memory, b.memory), std::max(a.cores, b.cores)};
}

// Of one card, container by container.
struct Phases {
  CardUsage sidecars;
  CardUsage peak;  // before the app containers start
  CardUsage apps;

  void Add(ContainerKind kind, const CardUsage& usage) {
    if (kind == ContainerKind::kApp) {
      apps = Sum(apps, usage);
    } else {
      peak = Largest(peak, Sum(sidecars, usage));
      if (kind == ContainerKind::kSidecar) sidecars = Sum(sidecars, usage);
    }
  }
};

}  // namespace

int32_t Request::MemoryOn(int32_t total) const {
  if (memory > 0) return memory;
  return static_cast<int32_t>(int64_t{total} * percentage / 100);
}

Result<std::optional<Request>> Resolve(const Container& container, const RequestRules& rules) {
  const auto count = NumberAskedFor(container, rules.count_name);
  if (!count || *count <= 0) return std::nullopt;
  if (*count > kMostOfInt32) return NotBelowLimit(container, rules.count_name);
  Request request;
  request.count = static_cast<int32_t>(*count);
  request.memory = TRY(MemoryOf(container, rules));
  request.percentage = Percent(NumberAskedFor(container, rules.percentage_name).value_or(0));
  if (request.memory == 0 && request.percentage == 0) {
    request.memory = std::max(rules.default_memory, 0);
    if (request.memory == 0) request.percentage = 100;
  }
  request.cores =
      Percent(NumberAskedFor(container, rules.cores_name).value_or(rules.default_cores));
  return request;
}

Result<std::vector<Entry>> EntriesByContainer(std::span<const Container> containers,
                                              const RequestRules& rules,
                                              std::span<const Entry> allocated) {
  std::vector<size_t> asking = ByStart(containers);
  std::erase_if(asking, [&](size_t i) { return !Asks(containers[i], rules); });
  std::vector<const Entry*> given;
  for (const Entry& entry : allocated) {
    if (!entry.empty()) given.push_back(&entry);
  }
  if (given.size() != asking.size()) {
    std::vector<std::string> names;
    for (const size_t i : asking) names.push_back(Brief(containers[i].name));
    return Fail(Reason::kInvalid, "{} has devices for {}, but {} for {}{}{}", kPodAllocated,
                Count(given.size(), "container"),
                asking.size() == 1 ? "1 asks" : fmt::format("{} ask", asking.size()),
                rules.count_name, names.empty() ? "" : ": ", Join(names, ", "));
  }
  std::vector<Entry> entries(containers.size());
  for (size_t k = 0; k < asking.size(); ++k) entries[asking[k]] = *given[k];
  return entries;
}

Status CheckEntry(const Entry& entry, const Request& request,
                  std::span<const RegisteredDevice> cards) {
  if (entry.size() != static_cast<size_t>(request.count)) {
    return Fail(Reason::kInvalid, "{}, where the container asks for {}",
                Count(entry.size(), "device"), request.count);
  }
  std::set<std::string_view> seen;
  for (const PodDevice& device : entry) {
    const auto card = std::ranges::find(cards, device.uuid, &RegisteredDevice::id);
    if (card == cards.end()) {
      return Fail(Reason::kInvalid, "{} is no card of this node", Brief(device.uuid));
    }
    // Several MIG devices may be of one card.
    if (!seen.insert(device.uuid).second && card->mode != kModeMig) {
      return Fail(Reason::kInvalid, "{} is there twice", Brief(device.uuid));
    }
    TRY(CheckDevice(device, request, *card));
  }
  return {};
}

std::string LessThanAsked(const Entry& entry, const Request& request,
                          std::span<const RegisteredDevice> cards) {
  std::vector<std::string> parts;
  for (const PodDevice& device : entry) {
    const auto card = std::ranges::find(cards, device.uuid, &RegisteredDevice::id);
    if (card == cards.end() || card->mode == kModeMig) continue;
    const int32_t memory = request.MemoryOn(card->devmem);
    if (device.memory < memory) {
      parts.push_back(
          fmt::format("{} MiB of {} instead of {}", device.memory, Brief(device.uuid), memory));
    }
    const int32_t cores = request.cores == 0 ? 100 : request.cores;
    if (device.cores > 0 && device.cores < cores) {
      parts.push_back(fmt::format("{} % of the cores of {} instead of {}", device.cores,
                                  Brief(device.uuid), cores));
    }
  }
  return Join(parts, ", ");
}

std::map<std::string, CardUsage> UsageByCard(std::span<const Container> containers,
                                             std::span<const Entry> entries) {
  std::map<std::string, Phases> phases;
  for (const size_t i : ByStart(containers)) {
    std::map<std::string, CardUsage> own;
    for (const PodDevice& device : entries[i]) {
      CardUsage& usage = own[device.uuid];
      usage = Sum(usage, {1, device.memory, device.cores});
    }
    for (const auto& [uuid, usage] : own) phases[uuid].Add(containers[i].kind, usage);
  }
  std::map<std::string, CardUsage> cards;
  for (const auto& [uuid, phase] : phases) {
    cards[uuid] = Largest(phase.peak, Sum(phase.sidecars, phase.apps));
  }
  return cards;
}

}  // namespace tessera::hami
