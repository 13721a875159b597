// SPDX-License-Identifier: Apache-2.0
// The CDI (Container Device Interface) parts of a grant: names, annotations, and the document from
// which a runtime reads the devices' edits.
#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/characters.h"
#include "base/hash.h"
#include "grant/grant.h"
#include "json/json.h"

namespace tessera {
namespace {

constexpr size_t kAnnotationNameLimit = 63;
constexpr std::string_view kNvidiasPlugin = "k8s.device-plugin.nvidia.com";

bool IsNameCharacter(char c) {
  return IsAlphanumeric(c) || c == '_' || c == '-' || c == '.';
}

std::string HashOf(std::string_view text) {
  return fmt::format("{:016x}", Fnv1a(text));
}

std::string DeviceName(std::string_view id) {
  if (cdi::IsDeviceName(id)) return std::string(id);
  std::string name;
  for (char c : id) {
    if (IsAlphanumeric(c) || (IsNameCharacter(c) && !name.empty())) name += c;
  }
  return name.empty() ? HashOf(id) : name + "-" + HashOf(id);
}

// A variable per device, "DUMMY_VISIBLE_DEVICES_7=7". CDI appends the edits of several devices, so
// of equal variables only the last would count.
std::string OwnVariable(std::string variable, const Device& device, const std::string& value) {
  variable += '_';
  for (char c : device.key.id) {
    const bool lower = c >= 'a' && c <= 'z';
    variable += lower ? static_cast<char>(c - 'a' + 'A') : IsAlphanumeric(c) ? c : '_';
  }
  return variable + "=" + value;
}

cdi::Edits EditsOf(const Device& device) {
  cdi::Edits edits;
  for (const DeviceNode& node : device.nodes) {
    edits.nodes.push_back({.path = node.container_path,
                           .host_path = node.host_path == node.container_path ? "" : node.host_path,
                           .permissions = node.permissions});
  }
  for (const Mount& mount : device.mounts) {
    edits.mounts.push_back(CdiMount(mount));
  }
  return edits;
}

std::string NameOf(const Device& device, const Rendering& rendering) {
  const bool visible = rendering.cdi_visible_names || !rendering.cdi_write;
  return DeviceName(visible ? device.visible_as : device.key.id);
}

}  // namespace

cdi::Mount CdiMount(const Mount& mount) {
  return {.host_path = mount.host_path,
          .container_path = mount.container_path,
          .options = {"rbind", "rprivate", mount.read_only ? "ro" : "rw"}};
}

cdi::Edits CdiEditsOf(const Device& device, const Rendering& rendering, const cdi::Parts* parts) {
  if (parts != nullptr) {
    const auto known = parts->devices.find(device.key.id);
    return known == parts->devices.end() ? EditsOf(device) : known->second;
  }
  cdi::Edits edits = EditsOf(device);
  if (!rendering.env.empty() || edits.empty()) {
    const std::string env = rendering.env.empty() ? "TESSERA_DEVICE" : rendering.env;
    edits.env.push_back(OwnVariable(env, device, device.visible_as));
  }
  for (const auto& [name, value] : device.traits->variables) {
    edits.env.push_back(OwnVariable(name, device, value));
  }
  return edits;
}

Status CheckCdiKind(std::string_view kind) {
  const size_t slash = kind.find('/');
  if (slash != std::string_view::npos && cdi::IsVendorOrClass(kind.substr(0, slash)) &&
      cdi::IsVendorOrClass(kind.substr(slash + 1))) {
    return {};
  }
  return Fail(Reason::kInvalid,
              "\"{}\" is not a CDI kind, vendor/class. Each part has at least two letters, digits, "
              "\"_\", \"-\" or \".\", begins with a letter and ends with a letter or digit",
              kind);
}

bool WritesCdi(const Rendering& rendering) {
  return rendering.cdi_write && !rendering.cdi_kind.empty() &&
         std::ranges::any_of(rendering.strategies, IsCdi);
}

cdi::Document CdiDocument(const Offer& offer, const Rendering& rendering, const cdi::Parts* parts) {
  cdi::Document document{.kind = rendering.cdi_kind};
  if (parts != nullptr) document.edits = parts->common;
  for (const Device& device : offer.devices) {
    document.devices.push_back({.name = NameOf(device, rendering),
                                .edits = CdiEditsOf(device, rendering, parts),
                                .present = device.present});
  }
  return document;
}

Rendering WithoutMissing(Rendering rendering, const cdi::Parts& parts) {
  const auto drop = [&](std::string& name) {
    const std::string_view kind = std::string_view(name).substr(0, name.find('='));
    if (std::ranges::count(parts.others, kind, &cdi::Document::kind) == 0) name.clear();
  };
  for (ExtraDevice& extra : rendering.extras) drop(extra.cdi_device);
  for (Channel& channel : rendering.channels) drop(channel.cdi_device);
  return rendering;
}

bool IsCdiDocumentOf(std::string_view cdi_kind, std::string_view text) {
  const auto parsed = json::Parse(text);
  const json::Object* document = parsed ? parsed->if_object() : nullptr;
  return document != nullptr && json::GetString(*document, "cdiVersion").has_value() &&
         json::GetString(*document, "kind") == cdi_kind &&
         json::GetArray(*document, "devices") != nullptr;
}

std::string CdiFileName(std::string_view cdi_kind) {
  const std::string_view vendor = cdi_kind.substr(0, cdi_kind.find('/'));
  const bool ours = vendor != kNvidiasPlugin;
  std::string name = fmt::format("{}{}.json", ours ? "tessera-" : "", cdi_kind);
  std::replace(name.begin(), name.end(), '/', ours ? '_' : '-');
  return name;
}

std::string CdiDeviceName(std::string_view cdi_kind, std::string_view device_id) {
  return fmt::format("{}={}", cdi_kind, DeviceName(device_id));
}

std::string CdiNameOf(const Device& device, const Rendering& rendering) {
  return fmt::format("{}={}", rendering.cdi_kind, NameOf(device, rendering));
}

std::string CdiAnnotationKey(std::string_view prefix, std::string_view resource) {
  const size_t begin = prefix.rfind('/') + 1;  // 0 if there is no slash
  std::string name = fmt::format("{}{}", prefix.substr(begin), resource);
  std::replace(name.begin(), name.end(), '/', '_');
  if (name.size() > kAnnotationNameLimit) {
    const std::string hash = HashOf(resource);
    name = name.substr(0, kAnnotationNameLimit - hash.size() - 1) + "_" + hash;
  }
  return std::string(prefix.substr(0, begin)) + name;
}

}  // namespace tessera
