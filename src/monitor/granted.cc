// SPDX-License-Identifier: Apache-2.0
#include "monitor/granted.h"

#include <utility>

namespace tessera::monitor {
namespace {

std::string TextIn(const json::Object& object, std::string_view key) {
  return json::GetString(object, key).value_or("");
}

std::vector<Fraction> PartsIn(const json::Object& container) {
  std::vector<Fraction> parts;
  const json::Array* devices = json::GetArray(container, "devices");
  if (devices == nullptr) return parts;
  for (const json::Value& value : *devices) {
    if (!value.is_object()) continue;
    const json::Object& device = value.get_object();
    Fraction part{.device = TextIn(device, "device"),
                  .memory = json::GetInt(device, "memoryBytes").value_or(0) >> 20,
                  .cores = static_cast<int>(json::GetInt(device, "cores").value_or(0))};
    if (!part.device.empty()) parts.push_back(std::move(part));
  }
  return parts;
}

Container ContainerIn(const json::Object& object) {
  Container container{.pod = TextIn(object, "uid"),
                      .container = TextIn(object, "container"),
                      .grant = TextIn(object, "grant"),
                      .resource = TextIn(object, "resource"),
                      .division = TextIn(object, "division"),
                      .parts = PartsIn(object)};
  const std::string pod = TextIn(object, "pod");
  if (!pod.empty()) container.pod_name = TextIn(object, "namespace") + "/" + pod;
  const std::string directory = TextIn(object, "directory");
  if (!directory.empty()) container.file = directory + "/" + RegionNameOf(container.grant);
  return container;
}

}  // namespace

Result<Granted> ReadGranted(const json::Value& page) {
  const json::Array* containers =
      page.is_object() ? json::GetArray(page.get_object(), "containers") : nullptr;
  if (containers == nullptr) return Fail(Reason::kInvalid, "the agent's page has no containers");
  const json::Object& object = page.get_object();
  Granted granted{.node = TextIn(object, "node"),
                  .released = json::GetBool(object, "released").value_or(false)};
  if (const json::Array* directories = json::GetArray(object, "directories")) {
    for (const json::Value& directory : *directories) {
      if (directory.is_string()) granted.directories.emplace(directory.get_string());
    }
  }
  if (const json::Object* pods = json::GetObject(object, "pods")) {
    for (const auto& [uid, name] : *pods) {
      if (name.is_string()) granted.pods.emplace(uid, name.get_string());
    }
  }
  for (const json::Value& value : *containers) {
    if (!value.is_object()) continue;
    Container container = ContainerIn(value.get_object());
    if (!container.container.empty()) granted.containers.push_back(std::move(container));
  }
  return granted;
}

}  // namespace tessera::monitor
