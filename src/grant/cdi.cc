// SPDX-License-Identifier: Apache-2.0
// The parts of a grant that speak CDI, the Container Device Interface: names, annotations and the
// document a runtime reads the devices' edits from.
#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "grant/grant.h"
#include "json/json.h"

namespace tessera {
namespace {

constexpr size_t kAnnotationNameLimit = 63;

bool IsLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool IsDigit(char c) {
  return c >= '0' && c <= '9';
}
bool IsAlphanumeric(char c) {
  return IsLetter(c) || IsDigit(c);
}
bool IsNameCharacter(char c) {
  return IsAlphanumeric(c) || c == '_' || c == '-' || c == '.';
}

bool IsVendorOrClass(std::string_view text) {
  return text.size() >= 2 && IsLetter(text.front()) && IsAlphanumeric(text.back()) &&
         std::all_of(text.begin(), text.end(), IsNameCharacter);
}

bool IsDeviceName(std::string_view text) {
  return !text.empty() && IsAlphanumeric(text.front()) && IsAlphanumeric(text.back()) &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return IsNameCharacter(c) || c == ':'; });
}

// FNV-1a, as 16 hexadecimal digits. The names made with it are on disk and in running containers,
// so it is a fixed function and not the library's hash.
std::string Hash(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  return fmt::format("{:016x}", hash);
}

std::string DeviceName(std::string_view id) {
  if (IsDeviceName(id)) return std::string(id);
  std::string name;
  for (char c : id) {
    if (IsAlphanumeric(c) || (IsNameCharacter(c) && !name.empty())) name += c;
  }
  return name.empty() ? Hash(id) : name + "-" + Hash(id);
}

// A device's own variable, e.g. "DUMMY_VISIBLE_DEVICES_7=7".
std::string OwnVariable(const Device& device, const Rendering& rendering) {
  std::string variable = rendering.env.empty() ? "TESSERA_DEVICE" : rendering.env;
  variable += '_';
  for (char c : device.key.id) {
    const bool lower = c >= 'a' && c <= 'z';
    variable += lower ? static_cast<char>(c - 'a' + 'A') : IsAlphanumeric(c) ? c : '_';
  }
  return variable + "=" + device.visible_as;
}

json::Object NodeJson(const DeviceNode& node) {
  json::Object object;
  object["path"] = node.container_path;
  if (node.host_path != node.container_path) object["hostPath"] = node.host_path;
  if (!node.permissions.empty()) object["permissions"] = node.permissions;
  return object;
}

json::Object MountJson(const Mount& mount) {
  json::Object object;
  object["hostPath"] = mount.host_path;
  object["containerPath"] = mount.container_path;
  object["options"] = json::Array{"rbind", "rprivate", mount.read_only ? "ro" : "rw"};
  return object;
}

json::Object EditsJson(const Device& device, const Rendering& rendering) {
  json::Object edits;
  if (!rendering.env.empty() || (device.nodes.empty() && device.mounts.empty())) {
    edits["env"] = json::Array{json::Value(OwnVariable(device, rendering))};
  }
  json::Array nodes;
  for (const DeviceNode& node : device.nodes) nodes.push_back(NodeJson(node));
  if (!nodes.empty()) edits["deviceNodes"] = std::move(nodes);
  json::Array mounts;
  for (const Mount& mount : device.mounts) mounts.push_back(MountJson(mount));
  if (!mounts.empty()) edits["mounts"] = std::move(mounts);
  return edits;
}

// The lowest version whose readers know all that is used.
std::string_view Version(const Offer& offer, std::string_view kind) {
  if (kind.substr(kind.find('/') + 1).find('.') != std::string_view::npos) return "0.6.0";
  for (const Device& device : offer.devices) {
    if (IsDigit(DeviceName(device.key.id).front())) return "0.5.0";
    for (const DeviceNode& node : device.nodes) {
      if (node.host_path != node.container_path) return "0.5.0";
    }
  }
  return "0.3.0";
}

}  // namespace

Status CheckCdiKind(std::string_view kind) {
  const size_t slash = kind.find('/');
  if (slash != std::string_view::npos && IsVendorOrClass(kind.substr(0, slash)) &&
      IsVendorOrClass(kind.substr(slash + 1))) {
    return {};
  }
  return Fail(Reason::kInvalid,
              "\"{}\" is no CDI kind: it reads vendor/class, both of at least two characters, "
              "letters, digits, \"_\", \"-\" and \".\", a letter first, a letter or digit last",
              kind);
}

std::string CdiDocument(const Offer& offer, const Rendering& rendering) {
  if (offer.devices.empty()) return {};
  json::Array devices;
  for (const Device& device : offer.devices) {
    json::Object entry;
    entry["name"] = DeviceName(device.key.id);
    entry["containerEdits"] = EditsJson(device, rendering);
    devices.push_back(std::move(entry));
  }
  json::Object document;
  document["cdiVersion"] = Version(offer, rendering.cdi_kind);
  document["kind"] = rendering.cdi_kind;
  document["devices"] = std::move(devices);
  return json::WritePretty(document);
}

bool IsCdiDocumentOf(std::string_view cdi_kind, std::string_view text) {
  const auto parsed = json::Parse(text);
  const json::Object* document = parsed ? parsed->if_object() : nullptr;
  return document != nullptr && json::GetString(*document, "cdiVersion").has_value() &&
         json::GetString(*document, "kind") == cdi_kind &&
         json::GetArray(*document, "devices") != nullptr;
}

std::string CdiFileName(std::string_view cdi_kind) {
  std::string name = fmt::format("tessera-{}.json", cdi_kind);
  std::replace(name.begin(), name.end(), '/', '_');
  return name;
}

std::string CdiDeviceName(std::string_view cdi_kind, std::string_view device_id) {
  return fmt::format("{}={}", cdi_kind, DeviceName(device_id));
}

std::string CdiAnnotationKey(std::string_view prefix, std::string_view resource) {
  const size_t begin = prefix.rfind('/') + 1;  // 0 where there is no slash
  std::string name = fmt::format("{}{}", prefix.substr(begin), resource);
  std::replace(name.begin(), name.end(), '/', '_');
  if (name.size() > kAnnotationNameLimit) {
    const std::string hash = Hash(resource);
    name = name.substr(0, kAnnotationNameLimit - hash.size() - 1) + "_" + hash;
  }
  return std::string(prefix.substr(0, begin)) + name;
}

}  // namespace tessera
