// SPDX-License-Identifier: Apache-2.0
#include "compat/hami/node_config.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "config/schema/yaml.h"
#include "json/json.h"
#include "os/files.h"

namespace tessera::config::hami {
namespace {

bool IsSame(std::string_view key, std::string_view lower) {
  return std::ranges::equal(key, lower, [](char a, char b) {
    return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b;
  });
}

const Option* OptionOf(std::string_view key) {
  for (const Option& option : Options()) {
    if (!option.node_key.empty() && IsSame(key, option.node_key)) return &option;
  }
  return nullptr;
}

// Reads one node's entries. Paths in errors are those of the file.
class Entries {
 public:
  Entries(const std::string& name, std::string_view node) : name_(name), node_(node) {}

  Status Read(const json::Value& whole) {
    const json::Object* root = whole.if_object();
    if (root == nullptr) return Fail(Reason::kConfigWrongType, "the file is not a JSON object");
    for (const auto& member : *root) {
      if (!IsSame(member.key(), "nodeconfig") || member.value().is_null()) continue;
      const json::Array* entries = member.value().if_array();
      if (entries == nullptr) return Fail(Reason::kConfigWrongType, "nodeconfig takes a list");
      for (size_t i = 0; i < entries->size(); ++i) {
        TRY(ReadEntry((*entries)[i], fmt::format("nodeconfig[{}]", i)));
      }
    }
    return {};
  }

  NodeConfig Take() { return std::move(config_); }

 private:
  Status ReadEntry(const json::Value& value, const std::string& path) {
    const json::Object* entry = value.if_object();
    if (entry == nullptr) {
      return Fail(Reason::kConfigWrongType, "{} takes an object, not {}", path, Shown(value));
    }
    std::string named;
    for (const auto& member : *entry) {
      if (!IsSame(member.key(), "name")) continue;
      if (const auto* text = member.value().if_string()) named = std::string_view(*text);
    }
    if (named.empty() || named != node_) return {};
    for (const auto& member : *entry) {
      const std::string key(member.key());
      if (const Option* option = OptionOf(key)) {
        TRY(ReadValue(*option, member.value(), path, key));
      } else if (IsSame(key, "filterdevices")) {
        TRY(ReadFilter(member.value(), path, key));
      }
    }
    return {};
  }

  Status ReadValue(const Option& option, const json::Value& value, const std::string& path,
                   const std::string& key) {
    if (value.is_null()) return {};
    const auto text = TextOf(option, value);
    if (!text) {
      return Fail(Reason::kConfigWrongType, "{}.{} takes {}, not {}", path, key, Wanted(option),
                  Shown(value));
    }
    if (text->empty()) return {};
    Settings any;
    if (const auto misfit = SetText(option, *text, any)) {
      return Fail(misfit->reason, "{}.{} {}", path, key, misfit->message);
    }
    config_.values.push_back({&option, *text, Origin(path)});
    return {};
  }

  // The value as a flag's text; empty: unset; null: it has another type.
  static std::optional<std::string> TextOf(const Option& option, const json::Value& value) {
    if (std::holds_alternative<std::string Settings::*>(option.member)) {
      const auto* text = value.if_string();
      return text == nullptr ? std::nullopt : std::optional(std::string(*text));
    }
    if (std::holds_alternative<bool Settings::*>(option.member)) {
      if (!value.is_bool()) return std::nullopt;
      return value.get_bool() ? "true" : "";
    }
    if (!value.is_number()) return std::nullopt;
    const std::string text =
        value.is_double() ? fmt::format("{}", value.get_double()) : json::Write(value);
    return text == "0" || text == "-0" ? "" : text;
  }

  static std::string_view Wanted(const Option& option) {
    if (std::holds_alternative<std::string Settings::*>(option.member)) return "text in quotes";
    if (std::holds_alternative<bool Settings::*>(option.member)) return "true or false";
    return "a number";
  }

  Status ReadFilter(const json::Value& value, const std::string& path, const std::string& key) {
    if (value.is_null()) return {};
    const json::Object* filter = value.if_object();
    if (filter == nullptr) {
      return Fail(Reason::kConfigWrongType, "{}.{} takes an object, not {}", path, key,
                  Shown(value));
    }
    for (const auto& member : *filter) {
      const std::string at = fmt::format("{}.{}.{}", path, key, std::string_view(member.key()));
      if (IsSame(member.key(), "uuid")) {
        TRY(ReadList(member.value(), at, "texts", config_.uuids, path, ReadUuid));
      } else if (IsSame(member.key(), "index")) {
        TRY(ReadList(member.value(), at, "whole numbers", config_.indices, path, ReadIndex));
      }
    }
    return {};
  }

  // A non-empty list replaces that of an earlier entry.
  template <class T, class ReadItem>
  Status ReadList(const json::Value& value, const std::string& at, std::string_view wanted,
                  std::vector<T>& list, const std::string& path, ReadItem read) {
    if (value.is_null()) return {};
    const json::Array* items = value.if_array();
    std::vector<T> found;
    bool good = items != nullptr;
    for (size_t i = 0; good && i < items->size(); ++i) {
      const std::optional<T> item = read((*items)[i]);
      good = item.has_value();
      if (good) found.push_back(*item);
    }
    if (!good) {
      return Fail(Reason::kConfigWrongType, "{} takes a list of {}, not {}", at, wanted,
                  Shown(value));
    }
    if (found.empty()) return {};
    list = std::move(found);
    config_.filter_origin = Origin(path);
    return {};
  }
  static std::optional<std::string> ReadUuid(const json::Value& value) {
    const auto* text = value.if_string();
    return text == nullptr || text->empty() ? std::nullopt : std::optional(std::string(*text));
  }
  static std::optional<int64_t> ReadIndex(const json::Value& value) {
    constexpr int64_t kMost = 1'000'000;
    const int64_t* number = value.if_int64();
    return number == nullptr || *number < 0 || *number > kMost ? std::nullopt
                                                               : std::optional(*number);
  }

  static std::string Shown(const json::Value& value) { return Quoted(json::Write(value)); }
  std::string Origin(const std::string& path) const { return fmt::format("{}, {}", name_, path); }

  const std::string& name_;
  const std::string_view node_;
  NodeConfig config_;
};

}  // namespace

Result<NodeConfig> ReadNodeConfig(const std::string& name, std::string_view text,
                                  std::string_view node) {
  const json::Value whole = TRY(json::Parse(text));
  Entries entries(name, node);
  TRY(entries.Read(whole));
  return entries.Take();
}

void Apply(const NodeConfig& config, Settings& settings, Findings& findings) {
  for (const NodeConfig::Value& value : config.values) {
    // It was checked at the first reading.
    (void)SetText(*value.option, value.text, settings);
    findings.SetOutside(value.option->Path(), value.origin, value.text, true);
  }
  settings.filtered_uuids = config.uuids;
  settings.filtered_indices = config.indices;
  if (!config.filter_origin.empty()) findings.SetOutside(kFilter, config.filter_origin, "", true);
}

NodeConfig NodeConfigFile::Read(const std::string& node, std::vector<Problem>& warnings) {
  if (!good_ && !os::Exists(path_)) return {};
  const Result<std::string> text = ReadText(path_);
  Result<NodeConfig> config = text ? ReadNodeConfig(path_, *text, node) : Fail(text.error());
  if (config) {
    if (node.empty()) {
      warnings.push_back({.reason = Reason::kConfigMissing,
                          .origin = path_,
                          .message =
                              "has no effect: the variable NODE_NAME does not say which node "
                              "this is"});
    }
    good_ = *std::move(config);
    return *good_;
  }
  warnings.push_back(
      {.reason = config.error().reason,
       .origin = path_,
       .message = fmt::format("{}; {}", config.error().message,
                              good_ ? "its last good content stays" : "it is left out")});
  return good_.value_or(NodeConfig());
}

}  // namespace tessera::config::hami
