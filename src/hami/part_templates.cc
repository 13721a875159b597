// SPDX-License-Identifier: Apache-2.0
#include "hami/part_templates.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "base/quote.h"
#include "base/text.h"
#include "hami/members.h"
#include "hami/names.h"

namespace tessera::hami {
namespace {

struct NamedDevice {
  std::string id{};
  std::string name{};  // its template; empty: it is whole
  bool has_sizes = false;
};

Result<NamedDevice> ReadDevice(const json::Value& value) {
  const json::Object& object = *TRY(AsObject(value));
  NamedDevice device{.has_sizes = object.contains("memory") || object.contains("core")};
  TRY(ReadMember(object, "UUID", device.id));
  TRY(ReadMember(object, "temp", device.name));
  return device;
}

std::string NameOf(std::string_view name) {
  return name.empty() ? "a whole device" : fmt::format("template {}", Brief(name));
}

// The template's name of each part; empty: it is whole.
Result<std::string> NameOfPart(const Vendor& vendor, const RequestRules& rules,
                               const Fraction& part) {
  if (const PartTemplate* found = TemplateOf(vendor, part.memory)) return found->name;
  const int32_t whole = rules.sizes.empty() ? 0 : rules.sizes.back();
  if (part.memory == whole) return std::string();
  std::vector<std::string> sizes;
  for (const PartTemplate& one : vendor.templates) {
    sizes.push_back(fmt::format("{} ({})", one.memory, one.name));
  }
  return Fail(
      Reason::kInvalid,
      "{} MiB of {} is no size of {}, which has {} and {} (whole): give the scheduler these "
      "templates",
      part.memory, Brief(part.device), vendor.word, Join(sizes, ", "), whole);
}

}  // namespace

const PartTemplate* TemplateOf(const Vendor& vendor, int64_t memory) {
  const auto found = std::ranges::find(vendor.templates, memory, &PartTemplate::memory);
  return found == vendor.templates.end() ? nullptr : &*found;
}

Status CheckTemplates(const kube::Pod& pod, const Vendor& vendor, const RequestRules& rules,
                      const PodPlacement& placement) {
  if (vendor.pod_devices_json.empty()) return {};
  const std::string_view text = pod.Annotation(vendor.pod_devices_json);
  if (text.empty()) {
    return Fail(Reason::kInvalid,
                "it has no annotation {}: a scheduler that knows {} has to place the pod",
                vendor.pod_devices_json, vendor.word);
  }
  const json::Value root = TRY_IN(json::Parse(text), vendor.pod_devices_json);
  std::vector<NamedDevice> named;
  TRY_IN(ReadList(root, "device", ReadDevice, named), vendor.pod_devices_json);
  for (const PlacedContainer& container : placement) {
    for (const Fraction& part : container.parts) {
      const std::string name = TRY(NameOfPart(vendor, rules, part));
      if (!name.empty() && container.parts.size() > 1) {
        return Fail(Reason::kInvalid,
                    "a container has {} MiB of {} and other devices: each of several has to be "
                    "whole",
                    part.memory, Brief(part.device));
      }
      const auto found = std::ranges::find_if(named, [&](const NamedDevice& device) {
        return device.id == part.device && device.name == name;
      });
      const auto other = std::ranges::find(named, part.device, &NamedDevice::id);
      if (other != named.end() && other->has_sizes) {
        return Fail(Reason::kInvalid,
                    "{} asks for HAMi's limiter, which this node does not have: remove {} from "
                    "the pod",
                    vendor.pod_devices_json, vendor.use_mode);
      }
      if (found != named.end()) {
        named.erase(found);
      } else if (other == named.end()) {
        return Fail(Reason::kInvalid, "{} does not name {}: place the pod again",
                    vendor.pod_devices_json, Brief(part.device));
      } else {
        return Fail(Reason::kInvalid,
                    "{} names {} for {} MiB of {}, which is {}: correct the scheduler's templates",
                    vendor.pod_devices_json, NameOf(other->name), part.memory, Brief(part.device),
                    NameOf(name));
      }
    }
  }
  if (named.empty()) return {};
  return Fail(Reason::kInvalid, "{} names {}, which no container has: place the pod again",
              vendor.pod_devices_json, Brief(named.front().id));
}

}  // namespace tessera::hami
