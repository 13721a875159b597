// SPDX-License-Identifier: Apache-2.0
#include "node/device_json.h"

#include <utility>

namespace tessera {

json::Array NodesJson(const std::vector<DeviceNode>& nodes) {
  json::Array array;
  for (const DeviceNode& node : nodes) {
    array.push_back(json::Object{{"hostPath", node.host_path},
                                 {"containerPath", node.container_path},
                                 {"permissions", node.permissions}});
  }
  return array;
}

json::Array MountsJson(const std::vector<Mount>& mounts) {
  json::Array array;
  for (const Mount& mount : mounts) {
    array.push_back(json::Object{{"hostPath", mount.host_path},
                                 {"containerPath", mount.container_path},
                                 {"readOnly", mount.read_only}});
  }
  return array;
}

json::Array LinksJson(const std::vector<Link>& links) {
  json::Array array;
  for (const Link& link : links) {
    json::Object object;
    if (!link.source.empty()) object["source"] = link.source;
    object["id"] = link.peer;
    object["points"] = link.points;
    array.push_back(std::move(object));
  }
  return array;
}

json::Object TraitsJson(const DeviceTraits& traits) {
  json::Object object;
  if (!traits.pci_path.empty()) object["pciPath"] = traits.pci_path;
  if (traits.iommu_group) object["iommuGroup"] = *traits.iommu_group;
  json::Object variables;
  for (const auto& [name, value] : traits.variables) variables[name] = value;
  if (!variables.empty()) object["variables"] = std::move(variables);
  json::Object capacities;
  for (const auto& [name, value] : traits.capacities) capacities[name] = value;
  if (!capacities.empty()) object["capacities"] = std::move(capacities);
  if (traits.shares_memory) object["sharesMemory"] = true;
  if (traits.shares) object["shares"] = *traits.shares;
  if (!traits.takes.empty()) {
    object["takes"] = json::Array(traits.takes.begin(), traits.takes.end());
  }
  if (!traits.bundle.empty()) object["bundle"] = traits.bundle;
  json::Array parts;
  for (const DeviceKey& part : traits.parts) {
    parts.push_back(json::Object{{"source", part.source}, {"id", part.id}});
  }
  if (!parts.empty()) object["parts"] = std::move(parts);
  return object;
}

DeviceTraits ReadTraits(const json::Object& object) {
  DeviceTraits traits;
  traits.pci_path = json::GetString(object, "pciPath").value_or("");
  if (const auto group = json::GetInt(object, "iommuGroup")) {
    traits.iommu_group = static_cast<int>(*group);
  }
  if (const json::Object* variables = json::GetObject(object, "variables")) {
    for (const auto& [name, value] : *variables) {
      if (value.is_string()) traits.variables[name] = value.get_string();
    }
  }
  if (const json::Object* capacities = json::GetObject(object, "capacities")) {
    for (const auto& [name, value] : *capacities) {
      if (value.is_int64()) traits.capacities[name] = value.get_int64();
    }
  }
  traits.shares_memory = json::GetBool(object, "sharesMemory").value_or(false);
  if (const auto shares = json::GetInt(object, "shares")) traits.shares = static_cast<int>(*shares);
  if (const json::Array* takes = json::GetArray(object, "takes")) {
    for (const json::Value& value : *takes) {
      if (value.is_string()) traits.takes.emplace_back(value.get_string());
    }
  }
  traits.bundle = json::GetString(object, "bundle").value_or("");
  if (const json::Array* parts = json::GetArray(object, "parts")) {
    for (const json::Value& value : *parts) {
      if (!value.is_object()) continue;
      traits.parts.push_back({json::GetString(value.get_object(), "source").value_or(""),
                              json::GetString(value.get_object(), "id").value_or("")});
    }
  }
  return traits;
}

}  // namespace tessera
