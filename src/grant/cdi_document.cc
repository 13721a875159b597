// SPDX-License-Identifier: Apache-2.0
#include "grant/cdi_document.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/characters.h"
#include "base/text.h"
#include "grant/cdi_version.h"
#include "json/json.h"

namespace tessera::cdi {
namespace {

bool IsNameCharacter(char c) {
  return IsAlphanumeric(c) || c == '_' || c == '-' || c == '.';
}

json::Array Texts(const std::vector<std::string>& texts) {
  return json::Array(texts.begin(), texts.end());
}

json::Object NodeJson(const Node& node) {
  json::Object object;
  object["path"] = node.path;
  if (!node.host_path.empty() && node.host_path != node.path) object["hostPath"] = node.host_path;
  if (!node.type.empty()) object["type"] = node.type;
  if (node.major) object["major"] = *node.major;
  if (node.minor) object["minor"] = *node.minor;
  if (node.file_mode) object["fileMode"] = *node.file_mode;
  if (!node.permissions.empty()) object["permissions"] = node.permissions;
  if (node.uid) object["uid"] = *node.uid;
  if (node.gid) object["gid"] = *node.gid;
  return object;
}

json::Object MountJson(const Mount& mount) {
  json::Object object;
  object["hostPath"] = mount.host_path;
  object["containerPath"] = mount.container_path;
  if (!mount.options.empty()) object["options"] = Texts(mount.options);
  if (!mount.type.empty()) object["type"] = mount.type;
  return object;
}

json::Object HookJson(const Hook& hook) {
  json::Object object;
  object["hookName"] = hook.name;
  object["path"] = hook.path;
  if (!hook.args.empty()) object["args"] = Texts(hook.args);
  if (!hook.env.empty()) object["env"] = Texts(hook.env);
  if (hook.timeout) object["timeout"] = *hook.timeout;
  return object;
}

template <class Item>
json::Array Objects(const std::vector<Item>& items, json::Object (*object)(const Item&)) {
  json::Array array;
  for (const Item& item : items) array.push_back(object(item));
  return array;
}

json::Object EditsJson(const Edits& edits) {
  json::Object object;
  if (!edits.env.empty()) object["env"] = Texts(edits.env);
  if (!edits.nodes.empty()) object["deviceNodes"] = Objects(edits.nodes, NodeJson);
  if (!edits.mounts.empty()) object["mounts"] = Objects(edits.mounts, MountJson);
  if (!edits.hooks.empty()) object["hooks"] = Objects(edits.hooks, HookJson);
  if (!edits.additional_gids.empty()) {
    object["additionalGids"] =
        json::Array(edits.additional_gids.begin(), edits.additional_gids.end());
  }
  return object;
}

// Removes repeated items and keeps the first of each.
template <class Item>
void RemoveRepeated(std::vector<Item>& items) {
  std::set<Item> seen;
  std::erase_if(items, [&](const Item& item) { return !seen.insert(item).second; });
}

template <class Item>
void RemoveThose(const std::vector<Item>& common, std::vector<Item>& items) {
  const std::set<Item> those(common.begin(), common.end());
  std::erase_if(items, [&](const Item& item) { return those.contains(item); });
}

void RemoveRepeated(Edits& edits) {
  RemoveRepeated(edits.env);
  RemoveRepeated(edits.nodes);
  RemoveRepeated(edits.mounts);
  RemoveRepeated(edits.hooks);
  RemoveRepeated(edits.additional_gids);
}

// Removes the common edits from a device's, unless it would have none left.
void RemoveCommon(const Edits& common, Edits& edits) {
  Edits rest = edits;
  RemoveThose(common.env, rest.env);
  RemoveThose(common.nodes, rest.nodes);
  RemoveThose(common.mounts, rest.mounts);
  RemoveThose(common.hooks, rest.hooks);
  RemoveThose(common.additional_gids, rest.additional_gids);
  if (!rest.empty()) edits = std::move(rest);
}

auto Place(const std::string& path) {
  return std::pair(std::ranges::count(path, '/'), std::string_view(path));
}

void NeedFor(const Edits& edits, Needs& needs) {
  for (const Node& node : edits.nodes) {
    if (node.OnHost() != node.path) needs.AtLeast("0.5.0");
  }
  for (const Mount& mount : edits.mounts) {
    if (!mount.type.empty()) needs.AtLeast("0.4.0");
  }
  if (!edits.additional_gids.empty()) needs.AtLeast("0.7.0");
}

}  // namespace

bool IsVendorOrClass(std::string_view text) {
  return text.size() >= 2 && IsLetter(text.front()) && IsAlphanumeric(text.back()) &&
         std::ranges::all_of(text, IsNameCharacter);
}

bool IsDeviceName(std::string_view text) {
  return !text.empty() && IsAlphanumeric(text.front()) && IsAlphanumeric(text.back()) &&
         std::ranges::all_of(text, [](char c) { return IsNameCharacter(c) || c == ':'; });
}

void Append(const Edits& from, Edits& to) {
  const auto append = [](const auto& items, auto& behind) {
    behind.insert(behind.end(), items.begin(), items.end());
  };
  append(from.env, to.env);
  append(from.nodes, to.nodes);
  append(from.mounts, to.mounts);
  append(from.hooks, to.hooks);
  append(from.additional_gids, to.additional_gids);
}

void Sort(Edits& edits) {
  std::ranges::stable_sort(edits.nodes, {}, [](const Node& node) { return Place(node.path); });
  std::ranges::stable_sort(edits.mounts, {},
                           [](const Mount& mount) { return Place(mount.container_path); });
}

Document Merge(const std::vector<const Document*>& documents) {
  Document merged;
  std::map<std::string_view, size_t> places;
  for (const Document* document : documents) {
    merged.kind = document->kind;
    if (!document->edits.empty()) merged.edits = document->edits;
    for (const Device& device : document->devices) {
      const auto [place, fresh] = places.try_emplace(device.name, merged.devices.size());
      if (fresh) {
        merged.devices.push_back(device);
      } else if (device.present || !merged.devices[place->second].present) {
        merged.devices[place->second] = device;
      }
    }
  }
  if (documents.size() > 1) {
    std::ranges::stable_sort(merged.devices, NaturalLess(), &Device::name);
  }
  return merged;
}

Document Tidy(Document document) {
  RemoveRepeated(document.edits);
  for (Device& device : document.devices) {
    RemoveRepeated(device.edits);
    RemoveCommon(document.edits, device.edits);
  }
  std::erase_if(document.devices, [](const Device& device) { return device.edits.empty(); });
  return document;
}

std::string Version(const Document& document) {
  Needs needs;
  needs.ForKind(document.kind);
  NeedFor(document.edits, needs);
  for (const Device& device : document.devices) {
    needs.ForDeviceName(device.name);
    NeedFor(device.edits, needs);
  }
  return std::string(needs.version());
}

std::string Text(const Document& document) {
  if (document.devices.empty()) return {};
  json::Array devices;
  for (const Device& device : document.devices) {
    devices.push_back(
        json::Object{{"name", device.name}, {"containerEdits", EditsJson(device.edits)}});
  }
  json::Object object;
  object["cdiVersion"] = Version(document);
  object["kind"] = document.kind;
  object["devices"] = std::move(devices);
  if (!document.edits.empty()) object["containerEdits"] = EditsJson(document.edits);
  return json::WritePretty(std::move(object));
}

}  // namespace tessera::cdi
