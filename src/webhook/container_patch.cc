// SPDX-License-Identifier: Apache-2.0
#include "webhook/container_patch.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "hami/names.h"
#include "placement/quantity.h"
#include "placement/request_check.h"

namespace tessera::webhook {
namespace {

constexpr int32_t kWholeCores = 100;
constexpr int64_t kWholeMemory = 100;  // percent

std::string PathOf(const NewContainer& container) {
  const bool app = container.asked.kind == kube::Container::Kind::kApp;
  return fmt::format("/spec/{}/{}", app ? "containers" : "initContainers", container.place);
}

// 0 if the container requests none.
int64_t Asked(const NewContainer& container, const std::string& resource) {
  const auto found = container.asked.limits.find(resource);
  if (resource.empty() || found == container.asked.limits.end()) return 0;
  return WholeQuantity(found->second).value_or(0);
}

bool Says(const NewContainer& container, const std::string& resource) {
  return !resource.empty() && container.asked.limits.contains(resource);
}

// API servers copy a limit to a missing request. If the container has other requests, the patch
// adds this one itself and does not depend on that.
void SetAmount(const NewContainer& container, const std::string& resource, int64_t amount,
               json::Array& patch) {
  if (resource.empty()) return;
  const std::string base = PathOf(container) + "/resources/";
  const std::string text = std::to_string(amount);
  for (const auto& [key, there] : {std::pair{"limits", &container.asked.limits},
                                   std::pair{"requests", &container.asked.requests}}) {
    if (there->empty()) continue;
    patch.push_back(AddText(fmt::format("{}{}/{}", base, key, PointerPart(resource)), text));
  }
}

// Whether the container requests all memory of its devices.
bool IsWhole(const NewContainer& container, const RequestRules& requests) {
  const int64_t percentage = Asked(container, requests.percentage_name);
  return percentage == kWholeMemory ||
         (percentage == 0 && Asked(container, requests.memory_name) == 0);
}

// 0 if the container gets no device.
int64_t CountOf(const NewContainer& container, const DeviceRules& rules) {
  const int64_t asked = Asked(container, rules.requests.count_name);
  return CountFor(asked == 0 ? rules.default_count : asked, rules.requests);
}

// The cores of a container that requests none.
int64_t CoresFor(const NewContainer& container, const DeviceRules& rules, int64_t count) {
  if (rules.requests.several_cores && count > 1) return count * kWholeCores;
  if (!rules.vendor->has_agent) return 0;
  // A container with all of the memory is alone on the device, so it gets all compute time.
  return IsWhole(container, rules.requests) ? kWholeCores : rules.requests.default_cores;
}

void AddMemory(const NewContainer& container, const RequestRules& requests, json::Array& patch) {
  const int32_t factor = std::max(requests.memory_factor, 1);
  const int64_t asked = Asked(container, requests.memory_name);
  if (asked > 0 && !requests.sizes.empty()) {
    // The spec then shows the granted size, for programs that count requests.
    const auto size = SizeFor(asked * factor, requests);
    if (size && *size % factor == 0 && *size != asked * factor) {
      SetAmount(container, requests.memory_name, *size / factor, patch);
    }
    return;
  }
  const bool said =
      Says(container, requests.memory_name) || Says(container, requests.percentage_name);
  if (!said && requests.default_memory > 0 && requests.default_memory % factor == 0) {
    SetAmount(container, requests.memory_name, requests.default_memory / factor, patch);
  }
}

struct Wish {
  std::string_view name{};
  std::string value{};
};

std::vector<Wish> VariablesFor(const NewContainer& container, const DeviceRules& rules) {
  std::vector<Wish> wishes;
  if (Says(container, rules.priority_name)) {
    wishes.push_back(
        {hami::kEnvTaskPriority, std::to_string(Asked(container, rules.priority_name))});
  }
  const bool asks = AsksForAny(container.asked, rules.requests);
  if (asks && !rules.core_policy.empty() && rules.core_policy != "default") {
    wishes.push_back({hami::kEnvCorePolicy, rules.core_policy});
  }
  const hami::Vendor& vendor = *rules.vendor;
  if (asks && !vendor.name_variable.empty()) {
    wishes.push_back({vendor.name_variable, container.asked.name});
  }
  if (!asks && rules.hides_devices && !vendor.hiding_variable.empty()) {
    wishes.push_back({vendor.hiding_variable, std::string(vendor.hiding_value)});
  }
  return wishes;
}

// Sets the first variable of this name and removes the others, last one first, so that earlier
// indices stay valid.
void SetOnce(const NewContainer& container, const Wish& wish, std::vector<size_t>& surplus,
             json::Array& patch, json::Array& added) {
  const json::Object entry{{"name", wish.name}, {"value", wish.value}};
  std::optional<size_t> first;
  for (size_t i = 0; i < container.variables.size(); ++i) {
    const Variable& variable = container.variables[i];
    if (variable.name != wish.name) continue;
    if (first) {
      surplus.push_back(i);
      continue;
    }
    first = i;
    if (variable.value == wish.value) continue;
    patch.push_back(json::Object{{"op", "replace"},
                                 {"path", fmt::format("{}/env/{}", PathOf(container), i)},
                                 {"value", entry}});
  }
  if (!first) added.emplace_back(entry);
}

}  // namespace

std::string PointerPart(std::string_view name) {
  std::string part;
  for (const char c : name) {
    if (c == '~') {
      part += "~0";
    } else if (c == '/') {
      part += "~1";
    } else {
      part += c;
    }
  }
  return part;
}

json::Value Add(std::string_view path, json::Value value) {
  return json::Object{{"op", "add"}, {"path", path}, {"value", std::move(value)}};
}

json::Value AddText(std::string_view path, std::string_view text) {
  return Add(path, json::Value(text));
}

void AddAmounts(const NewContainer& container, const DeviceRules& rules, json::Array& patch) {
  const RequestRules& requests = rules.requests;
  if (!AsksForAny(container.asked, requests)) return;
  const int64_t count = CountOf(container, rules);
  if (count == 0) return;
  if (count != Asked(container, requests.count_name)) {
    SetAmount(container, requests.count_name, count, patch);
  }
  if (const int64_t cores = CoresFor(container, rules, count);
      cores > 0 && !Says(container, requests.cores_name)) {
    SetAmount(container, requests.cores_name, cores, patch);
  }
  AddMemory(container, requests, patch);
}

void AddVariables(const NewContainer& container, const DeviceRules& rules, json::Array& patch) {
  std::vector<size_t> surplus;
  json::Array added;
  for (const Wish& wish : VariablesFor(container, rules)) {
    SetOnce(container, wish, surplus, patch, added);
  }
  const std::string env = PathOf(container) + "/env";
  std::ranges::sort(surplus, std::greater<>());
  for (const size_t place : surplus) {
    patch.push_back(json::Object{{"op", "remove"}, {"path", fmt::format("{}/{}", env, place)}});
  }
  if (added.empty()) return;
  if (container.variables.empty()) return patch.push_back(Add(env, std::move(added)));
  for (json::Value& entry : added) patch.push_back(Add(env + "/-", std::move(entry)));
}

}  // namespace tessera::webhook
