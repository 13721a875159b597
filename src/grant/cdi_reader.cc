// SPDX-License-Identifier: Apache-2.0
// Reads a CDI document as strictly as runtimes do. They refuse the whole document for an unknown
// field, a value of another type, or a version that lacks a used field.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <limits>
#include <set>
#include <span>
#include <utility>

#include "base/quote.h"
#include "grant/cdi_document.h"
#include "grant/cdi_version.h"
#include "json/json.h"

namespace tessera::cdi {
namespace {

using Names = std::span<const std::string_view>;

// Reads up to the first error.
class Reader {
 public:
  Result<Document> ReadAll(const json::Value& value) {
    Document document = ReadDocument(value);
    if (wrong_.empty()) CheckVersion();
    if (wrong_.empty()) return document;
    return Fail(Reason::kInvalid, "{}", wrong_);
  }

 private:
  Document ReadDocument(const json::Value& value) {
    static constexpr std::string_view kFields[] = {"cdiVersion", "kind", "annotations", "devices",
                                                   "containerEdits"};
    const json::Object object = ObjectAt(value, "the document", kFields);
    Document document;
    version_ = TextAt(object, "", "cdiVersion", true);
    document.kind = TextAt(object, "", "kind", true);
    CheckKind(document.kind);
    if (ReadAnnotations(object, "")) needs_.AtLeast("0.6.0");
    std::set<std::string> names;
    Each(object, "", "devices", [&](const json::Value& item, const std::string& at) {
      document.devices.push_back(ReadDevice(item, at));
      const std::string& name = document.devices.back().name;
      if (!names.insert(name).second) Wrong("two devices are named {}", Brief(name));
    });
    if (document.devices.empty()) Wrong("it has no devices");
    if (const json::Value* edits = object.if_contains("containerEdits")) {
      document.edits = ReadEdits(*edits, "containerEdits");
    }
    return document;
  }

  Device ReadDevice(const json::Value& value, const std::string& at) {
    static constexpr std::string_view kFields[] = {"name", "annotations", "containerEdits"};
    const json::Object object = ObjectAt(value, at, kFields);
    Device device;
    device.name = TextAt(object, at, "name", true);
    if (!IsDeviceName(device.name)) {
      Wrong("{}.name {} is not a device's name", at, Brief(device.name));
    }
    needs_.ForDeviceName(device.name);
    if (ReadAnnotations(object, at)) needs_.AtLeast("0.6.0");
    const bool others = others_;
    others_ = false;
    if (const json::Value* edits = object.if_contains("containerEdits")) {
      device.edits = ReadEdits(*edits, at + ".containerEdits");
    }
    if (device.edits.empty() && !others_) Wrong("{}.containerEdits is empty", at);
    others_ = others;
    return device;
  }

  Edits ReadEdits(const json::Value& value, const std::string& at) {
    static constexpr std::string_view kFields[] = {
        "env", "deviceNodes", "netDevices", "mounts", "hooks", "intelRdt", "additionalGids"};
    const json::Object object = ObjectAt(value, at, kFields);
    Edits edits;
    edits.env = TextsAt(object, at, "env");
    for (const std::string& each : edits.env) {
      if (each.find('=') == std::string::npos || each.front() == '=') {
        Wrong("{}.env has {}, which is not NAME=VALUE", at, Brief(each));
      }
    }
    Each(object, at, "deviceNodes", [&](const json::Value& item, const std::string& place) {
      edits.nodes.push_back(ReadNode(item, place));
    });
    Each(object, at, "mounts", [&](const json::Value& item, const std::string& place) {
      edits.mounts.push_back(ReadMount(item, place));
    });
    Each(object, at, "hooks", [&](const json::Value& item, const std::string& place) {
      edits.hooks.push_back(ReadHook(item, place));
    });
    Each(object, at, "additionalGids", [&](const json::Value& item, const std::string& place) {
      needs_.AtLeast("0.7.0");
      if (const auto gid = Number(item, place, 0, std::numeric_limits<uint32_t>::max())) {
        edits.additional_gids.push_back(static_cast<uint32_t>(*gid));
      }
    });
    ReadOthers(object, at);
    return edits;
  }

  // Reads edits that our documents never have.
  void ReadOthers(const json::Object& object, const std::string& at) {
    Each(object, at, "netDevices", [&](const json::Value& item, const std::string& place) {
      static constexpr std::string_view kFields[] = {"hostInterfaceName", "name"};
      const json::Object device = ObjectAt(item, place, kFields);
      for (const std::string_view field : kFields) TextAt(device, place, field, true);
      needs_.AtLeast("1.1.0");
      others_ = true;
    });
    const json::Value* rdt = object.if_contains("intelRdt");
    if (rdt == nullptr) return;
    static constexpr std::string_view kFields[] = {
        "closID",    "l3CacheSchema", "memBwSchema",     "enableCMT",
        "enableMBM", "schemata",      "enableMonitoring"};
    const json::Object fields = ObjectAt(*rdt, at + ".intelRdt", kFields);
    const bool newer = fields.contains("schemata") || fields.contains("enableMonitoring");
    needs_.AtLeast(newer ? "1.1.0" : "0.7.0");
    others_ = true;
  }

  Node ReadNode(const json::Value& value, const std::string& at) {
    static constexpr std::string_view kFields[] = {
        "path", "hostPath", "type", "major", "minor", "fileMode", "permissions", "uid", "gid"};
    constexpr int64_t kMost = std::numeric_limits<uint32_t>::max();
    const json::Object object = ObjectAt(value, at, kFields);
    Node node;
    node.path = TextAt(object, at, "path", true);
    node.host_path = TextAt(object, at, "hostPath", false);
    if (!node.host_path.empty()) needs_.AtLeast("0.5.0");
    node.type = TextAt(object, at, "type", false);
    if (node.type.size() > 1 || std::string_view("bcup").find(node.type) == std::string::npos) {
      Wrong("{}.type is {}, not one of b, c, p and u", at, Brief(node.type));
    }
    node.major = NumberAt(object, at, "major", std::numeric_limits<int64_t>::max());
    node.minor = NumberAt(object, at, "minor", std::numeric_limits<int64_t>::max());
    const auto mode = NumberAt(object, at, "fileMode", kMost);
    if (mode) node.file_mode = static_cast<uint32_t>(*mode);
    const auto uid = NumberAt(object, at, "uid", kMost);
    if (uid) node.uid = static_cast<uint32_t>(*uid);
    const auto gid = NumberAt(object, at, "gid", kMost);
    if (gid) node.gid = static_cast<uint32_t>(*gid);
    node.permissions = TextAt(object, at, "permissions", false);
    if (node.permissions != "none" &&
        node.permissions.find_first_not_of("rwm") != std::string::npos) {
      Wrong("{}.permissions is {}, not letters of rwm", at, Brief(node.permissions));
    }
    return node;
  }

  Mount ReadMount(const json::Value& value, const std::string& at) {
    static constexpr std::string_view kFields[] = {"hostPath", "containerPath", "options", "type"};
    const json::Object object = ObjectAt(value, at, kFields);
    Mount mount{.host_path = TextAt(object, at, "hostPath", true),
                .container_path = TextAt(object, at, "containerPath", true),
                .options = TextsAt(object, at, "options"),
                .type = TextAt(object, at, "type", false)};
    if (!mount.type.empty()) needs_.AtLeast("0.4.0");
    return mount;
  }

  Hook ReadHook(const json::Value& value, const std::string& at) {
    static constexpr std::string_view kFields[] = {"hookName", "path", "args", "env", "timeout"};
    static constexpr std::array<std::string_view, 6> kNames = {
        "prestart", "createRuntime", "createContainer", "startContainer", "poststart", "poststop"};
    const json::Object object = ObjectAt(value, at, kFields);
    Hook hook{.name = TextAt(object, at, "hookName", true),
              .path = TextAt(object, at, "path", true),
              .args = TextsAt(object, at, "args"),
              .env = TextsAt(object, at, "env"),
              .timeout = NumberAt(object, at, "timeout", std::numeric_limits<int64_t>::max())};
    if (std::ranges::count(kNames, hook.name) == 0) {
      Wrong("{}.hookName {} is not a hook's name", at, Brief(hook.name));
    }
    return hook;
  }

  bool ReadAnnotations(const json::Object& object, const std::string& at) {
    const json::Value* value = object.if_contains("annotations");
    if (value == nullptr) return false;
    const json::Object* map = value->if_object();
    if (map == nullptr) {
      Wrong("{} is not a map", Member(at, "annotations"));
      return false;
    }
    for (const auto& each : *map) {
      if (!each.value().is_string())
        Wrong("{} has a value that is not text", Member(at, each.key()));
    }
    return !map->empty();
  }

  void CheckKind(std::string_view kind) {
    const size_t slash = kind.find('/');
    if (slash == std::string_view::npos || !IsVendorOrClass(kind.substr(0, slash)) ||
        !IsVendorOrClass(kind.substr(slash + 1))) {
      return Wrong(
          "kind {} is not vendor/class with at least two characters each; containerd crashes on "
          "one",
          Brief(kind));
    }
    needs_.ForKind(kind);
  }

  void CheckVersion() {
    const int rank = RankOf(version_);
    if (rank < 0) return Wrong("cdiVersion {} is unknown", Brief(version_));
    if (rank >= RankOf(needs_.version())) return;
    Wrong("cdiVersion is {}, but the document's fields need {}", version_, needs_.version());
  }

  static std::string Member(const std::string& at, std::string_view name) {
    return at.empty() ? std::string(name) : fmt::format("{}.{}", at, name);
  }

  json::Object ObjectAt(const json::Value& value, const std::string& at, Names fields) {
    const json::Object* object = value.if_object();
    if (object == nullptr) {
      Wrong("{} is not a map", at);
      return {};
    }
    for (const auto& member : *object) {
      const std::string_view name = member.key();
      if (std::ranges::count(fields, name) == 0) Wrong("{} has no field {}", at, Brief(name));
    }
    return *object;
  }

  std::string TextAt(const json::Object& object, const std::string& at, std::string_view name,
                     bool required) {
    const json::Value* value = object.if_contains(name);
    if (value != nullptr && !value->is_string()) Wrong("{} is not a text", Member(at, name));
    std::string text = json::GetString(object, name).value_or("");
    if (required && text.empty()) Wrong("{} is missing", Member(at, name));
    return text;
  }

  std::optional<int64_t> Number(const json::Value& value, const std::string& at, int64_t min,
                                int64_t max) {
    const int64_t* number = value.if_int64();
    if (number != nullptr && *number >= min && *number <= max) return *number;
    Wrong("{} is not a number in the valid range", at);
    return std::nullopt;
  }

  std::optional<int64_t> NumberAt(const json::Object& object, const std::string& at,
                                  std::string_view name, int64_t max) {
    const json::Value* value = object.if_contains(name);
    return value == nullptr ? std::nullopt : Number(*value, Member(at, name), 0, max);
  }

  std::vector<std::string> TextsAt(const json::Object& object, const std::string& at,
                                   std::string_view name) {
    std::vector<std::string> texts;
    Each(object, at, name, [&](const json::Value& item, const std::string& place) {
      if (item.is_string() && !item.get_string().empty()) {
        texts.emplace_back(item.get_string());
      } else {
        Wrong("{} is not a text", place);
      }
    });
    return texts;
  }

  template <class Take>
  void Each(const json::Object& object, const std::string& at, std::string_view name,
            const Take& take) {
    const json::Value* value = object.if_contains(name);
    if (value == nullptr) return;
    const json::Array* array = value->if_array();
    if (array == nullptr) return Wrong("{} is not a list", Member(at, name));
    for (size_t i = 0; i < array->size(); ++i) {
      take((*array)[i], fmt::format("{}[{}]", Member(at, name), i));
    }
  }

  template <class... Args>
  void Wrong(fmt::format_string<Args...> format, Args&&... args) {
    if (wrong_.empty()) wrong_ = fmt::format(format, std::forward<Args>(args)...);
  }

  std::string version_;
  Needs needs_;
  bool others_ = false;  // the device has edits that are not kept
  std::string wrong_;    // the first error
};

}  // namespace

Result<Document> Read(std::string_view text) {
  const json::Value value = TRY(json::Parse(text));
  return Reader().ReadAll(value);
}

}  // namespace tessera::cdi
