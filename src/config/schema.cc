// SPDX-License-Identifier: Apache-2.0
#include "config/schema.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/quote.h"
#include "base/text.h"
#include "config/keys.h"
#include "config/schema/checks.h"
#include "config/schema/problem.h"

namespace tessera::config {
namespace {

bool IsUpper(char c) {
  return c >= 'A' && c <= 'Z';
}
char ToUpper(char c) {
  return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
}
char ToLower(char c) {
  return IsUpper(c) ? static_cast<char>(c - 'A' + 'a') : c;
}

void AddKeys(const Key& section, const std::string& path, std::vector<PathKey>& out) {
  for (const Key& key : section.children) {
    const std::string key_path = JoinPath(path, key.name);
    out.push_back({key_path, &key});
    AddKeys(key, key.type == Type::kList ? key_path + "[]" : key_path, out);
  }
}

bool Leads(const Key& section, const Key& wanted) {
  return std::ranges::any_of(section.children,
                             [&](const Key& key) { return &key == &wanted || Leads(key, wanted); });
}

// The default of `wanted` below `section`. Makes the choices and list items on the path to it.
Value DefaultBelow(const Key& section, const Key& wanted, Config& config) {
  for (const Key& key : section.children) {
    if (&key == &wanted) break;
    if (!Leads(key, wanted)) continue;
    if (key.choice.choose) key.choice.choose(config, At{});
    if (key.list.append) key.list.append(config, At{});
    return DefaultBelow(key, wanted, config);
  }
  return wanted.field.load ? wanted.field.load(config, At{}) : Value(std::string());
}

template <class T>
Parsed<Value> Wrap(Parsed<T> value) {
  if (!value) return tl::unexpected(std::move(value).error());
  return Value(*std::move(value));
}

Parsed<Value> ParseText(const Key& key, std::string_view text) {
  if (key.check) {
    if (auto misfit = key.check(text)) return tl::unexpected(*std::move(misfit));
  }
  return Value(std::string(text));
}

Parsed<Value> ParsePath(const Key& key, std::string_view text) {
  if (auto misfit = CheckAbsolutePath(text)) return tl::unexpected(*std::move(misfit));
  return ParseText(key, text);
}

// A check may have better advice about a word than the list of choices.
Parsed<Value> ParseChoice(const Key& key, std::string_view text) {
  if (key.check) {
    if (auto misfit = key.check(text)) return tl::unexpected(*std::move(misfit));
  }
  return Wrap(ReadOneOf(text, key.values));
}

Parsed<Value> ParseItems(const Key& key, std::string_view text) {
  std::vector<std::string> items;
  if (text.empty()) return Value(items);
  for (const std::string& part : Split(text, ',')) {
    const std::string item(Trim(part));
    if (key.type == Type::kPathList) {
      if (auto misfit = CheckAbsolutePath(item)) return tl::unexpected(*std::move(misfit));
    } else if (Parsed<std::string> value = ReadOneOf(item, key.values); !value) {
      return tl::unexpected(std::move(value).error());
    }
    items.push_back(item);
  }
  return Value(items);
}

}  // namespace

Schema::Schema(const Kinds& kinds)
    : kinds_(kinds), root_{.type = Type::kSection, .children = [&kinds] {
                             std::vector<Key> keys = AgentKeys();
                             keys.push_back(ResourcesKey(kinds));
                             return keys;
                           }} {}

const std::vector<PathKey>& Schema::keys() const {
  std::call_once(described_, [this] { AddKeys(root_, "", keys_); });
  return keys_;
}

Parsed<Value> Schema::ParseValue(const Key& key, std::string_view text) const {
  // An empty text stands for an empty default: "no path".
  const bool may_be_empty = !key.required && (key.type == Type::kPath || key.type == Type::kText);
  if (text.empty() && may_be_empty && DefaultText(key).empty()) return Value(std::string());
  if (ValidUtf8(text) != text) {
    return tl::unexpected(Misfit{Reason::kConfigWrongType,
                                 fmt::format("takes text in UTF-8, not {}", Quoted(text)), ""});
  }
  switch (key.type) {
    case Type::kBool:
      return Wrap(ReadBool(text));
    case Type::kInt:
      return Wrap(ReadInt(text, key.min, key.max));
    case Type::kDecimal:
      return Wrap(ReadDecimal(text, static_cast<double>(key.min), static_cast<double>(key.max)));
    case Type::kTime:
      return Wrap(ReadTime(text, Duration(key.min), Duration(key.max)));
    case Type::kEnum:
      return ParseChoice(key, text);
    case Type::kPath:
      return ParsePath(key, text);
    case Type::kEnumList:
    case Type::kPathList:
      return ParseItems(key, text);
    case Type::kText:
    case Type::kSection:
    case Type::kList:
      return ParseText(key, text);
  }
  return Value(std::string(text));
}

std::string ValueText(const Value& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* number = std::get_if<int64_t>(&value)) return fmt::format("{}", *number);
  if (const auto* number = std::get_if<double>(&value)) return fmt::format("{}", *number);
  if (const auto* time = std::get_if<Duration>(&value)) return FormatDuration(*time);
  if (const auto* items = std::get_if<std::vector<std::string>>(&value)) return Join(*items, ", ");
  return std::get<std::string>(value);
}

std::string Schema::DefaultText(const Key& key) const {
  Config config;
  return ValueText(DefaultBelow(root_, key, config));
}

const std::vector<PathKey>& FlagKeys() {
  static const Key kAgent{.type = Type::kSection, .children = AgentKeys};
  static const std::vector<PathKey> kKeys = [] {
    std::vector<PathKey> keys;
    AddKeys(kAgent, "", keys);
    std::erase_if(keys, [](const PathKey& key) {
      return !key.key->IsScalar() || key.path.find('[') != std::string::npos ||
             key.path == "version";
    });
    return keys;
  }();
  return kKeys;
}

std::string FlagName(std::string_view path) {
  std::string name;
  for (char c : path) {
    if (c == '.') {
      name += '-';
    } else {
      if (IsUpper(c)) name += '-';
      name += ToLower(c);
    }
  }
  return name;
}

std::string EnvironmentName(std::string_view path) {
  std::string name = "TESSERA_";
  for (char c : FlagName(path)) name += c == '-' ? '_' : ToUpper(c);
  return name;
}

std::string JoinPath(std::string_view parent, std::string_view name) {
  std::string path(parent);
  if (!path.empty()) path += '.';
  return path += name;
}

}  // namespace tessera::config
