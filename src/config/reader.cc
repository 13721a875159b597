// SPDX-License-Identifier: Apache-2.0
#include "config/reader.h"

#include <fmt/core.h>

#include "base/text.h"
#include "config/schema/scalar.h"

namespace tessera::config {
namespace {

std::string KindText(const Node& node) {
  if (node.IsNull()) return "nothing";
  if (node.IsSequence()) return "a list";
  if (node.IsMap()) return "a map";
  return node.quoted ? fmt::format("the text {}", Quoted(node.scalar)) : Quoted(node.scalar);
}

std::string Wanted(const Key& key) {
  switch (key.type) {
    case Type::kBool:
      return "true or false";
    case Type::kInt:
      return fmt::format("a whole number from {} to {}", key.min, key.max);
    case Type::kDecimal:
      return fmt::format("a number above {} and up to {}", key.min, key.max);
    case Type::kTime:
      return "a time such as 250ms, 10s, 5m or 2h";
    case Type::kPath:
      return "an absolute path";
    case Type::kEnum:
      return Listed(key.values);
    case Type::kEnumList:
      return fmt::format("a list of {}", Listed(key.values));
    case Type::kPathList:
      return "a list of absolute paths";
    default:
      return "text";
  }
}

// The path of the only key with that name, for a key in the wrong place.
std::string Elsewhere(const Schema& schema, std::string_view name) {
  std::string only;
  for (const PathKey& key : schema.keys()) {
    if (key.key->name != name) continue;
    if (!only.empty()) return "";
    only = key.path;
  }
  return only;
}

// Whether values of the type must have no quotes, which would make them text.
bool IsPlain(Type type) {
  return type == Type::kBool || type == Type::kInt || type == Type::kDecimal;
}

}  // namespace

void Reader::ReadAll() {
  const Node& root = document_.root();
  if (!document_.ok() && root.IsNull()) return;
  const std::string trouble = ObjectTrouble(root);
  if (!trouble.empty()) return Report(Reason::kConfigVersion, root, trouble);
  if (CheckVersion(root)) ReadSection(schema_.root(), root, {});
}

bool Reader::CheckVersion(const Node& root) {
  const Node* version = root.Find("version");
  if (const Node* hami = root.Find("nvidia"); version == nullptr && hami != nullptr) {
    Report(Reason::kConfigVersion, *hami,
           "this is HAMi's device-config.yaml, or lacks Tessera's 'version': serve HAMi's with "
           "'tessera agent nvidia --config-file FILE', or convert it with 'tessera config convert "
           "FILE'");
    return false;
  }
  if (version == nullptr || !version->IsScalar() || version->scalar == kVersion) return true;
  const bool nvidia =
      version->scalar == "v1" && (root.Find("flags") != nullptr || root.Find("sharing") != nullptr);
  Report(Reason::kConfigVersion, *version,
         nvidia ? fmt::format("version {} is the format of NVIDIA's device plugin: serve it with "
                              "'tessera agent nvidia --config-file FILE', or convert it to '{}' "
                              "with 'tessera config convert FILE'",
                              Quoted(version->scalar), kVersion)
                : fmt::format("version {} is not known; this version of Tessera reads '{}'",
                              Quoted(version->scalar), kVersion));
  return false;
}

void Reader::ReadSection(const Key& section, const Node& node, const Place& place) {
  if (!node.IsMap() && !node.IsNull()) {
    return ReportKind(node, place.path.empty() ? "the file" : place.path, "a map of keys");
  }
  for (const Node::Entry& entry : node.entries) {
    const Key* key = section.Child(entry.key.scalar);
    if (key == nullptr) {
      ReportUnknown(section, entry.key, place.path);
      continue;
    }
    ReadKey(*key, entry.value, place);
  }
  for (const Key& key : section.children) {
    if (!key.required || node.Find(key.name) != nullptr) continue;
    Node top;
    top.line = top.column = 1;
    const bool is_version = place.path.empty() && key.name == "version";
    Report(is_version ? Reason::kConfigVersion : Reason::kConfigMissing, node.line > 0 ? node : top,
           fmt::format("{} needs the key '{}'", place.path.empty() ? "the file" : place.path,
                       key.name));
  }
}

void Reader::ReadKey(const Key& key, const Node& node, const Place& parent) {
  Place place = parent;
  place.path = JoinPath(parent.path, key.name);
  if (!key.expands_to.empty()) {
    Expand(key, node, parent);
  } else if (key.type == Type::kList) {
    ReadList(key, node, place);
  } else if (key.type == Type::kSection) {
    findings_.SetInFile(place.path, node, node.IsMap() || node.IsNull());
    if (key.choice.choose) key.choice.choose(config_, place.at);
    ReadSection(key, node, place);
  } else {
    ReadScalar(key, node, place);
  }
}

void Reader::ReadList(const Key& key, const Node& node, const Place& place) {
  findings_.SetInFile(place.path, node, node.IsSequence() || node.IsNull());
  if (!node.IsSequence() && !node.IsNull()) return ReportKind(node, place.path, "a list");
  if (!Fits(key, node, place.path)) return;
  for (const Node& item : node.items) {
    Place inner = place;
    const size_t index = key.list.size(config_, place.at);
    inner.at[place.depth] = index;
    inner.depth = place.depth + 1;
    inner.path = fmt::format("{}[{}]", place.path, index);
    key.list.append(config_, place.at);
    findings_.SetInFile(inner.path, item, item.IsMap() || item.IsNull());
    ReadSection(key, item, inner);
  }
}

bool Reader::Fits(const Key& list, const Node& node, const std::string& path) {
  if (node.items.size() <= static_cast<size_t>(list.max)) return true;
  findings_.SetInFile(path, node, false);
  Report(Reason::kConfigBadValue, node,
         fmt::format("{} has {} items, at most {} are allowed", path, node.items.size(), list.max));
  return false;
}

void Reader::ReadScalar(const Key& key, const Node& node, const Place& place) {
  const bool is_list = key.type == Type::kEnumList;
  const bool fits =
      is_list ? node.IsSequence() : node.IsScalar() && !(node.quoted && IsPlain(key.type));
  findings_.SetInFile(place.path, node, false);
  if (!fits) return ReportKind(node, place.path, Wanted(key));
  Value value = std::vector<std::string>();
  bool good = true;
  const std::span<const Node> texts =
      is_list ? std::span<const Node>(node.items) : std::span<const Node>(&node, 1);
  for (const Node& text : texts) {
    Parsed<Value> read = text.IsScalar() ? schema_.ParseValue(key, text.scalar) : Parsed<Value>();
    if (!text.IsScalar()) {
      ReportKind(text, place.path, Wanted(key));
    } else if (!read) {
      Report(read.error().reason, text, fmt::format("{} {}", place.path, read.error().message),
             read.error().suggestion);
    }
    good = good && text.IsScalar() && read.has_value();
    if (!good) continue;
    if (is_list) {
      std::get<std::vector<std::string>>(value).push_back(text.scalar);
    } else {
      value = *std::move(read);
    }
  }
  if (!good) return;
  findings_.SetInFile(place.path, node);
  key.field.store(config_, place.at, value);
}

void Reader::Expand(const Key& key, const Node& node, const Place& parent) {
  const std::string path = JoinPath(parent.path, key.name);
  findings_.SetInFile(path, node, node.IsSequence());
  if (!node.IsSequence()) return ReportKind(node, path, Wanted(key));
  const Key* section = &schema_.root();
  // Finds the key's section by its path, without positions in lists.
  for (const std::string& part : Split(parent.path, '.')) {
    section = section->Child(part.substr(0, part.find('[')));
  }
  const std::string_view outermost(key.expands_to.data(), key.expands_to.find('['));
  if (!Fits(*section->Child(outermost), node, path)) return;
  for (const Node& item : node.items) ExpandItem(*section, key.expands_to, item, parent);
}

void Reader::ExpandItem(const Key& section, std::string_view rest, const Node& item, Place place) {
  const size_t dot = rest.find('.');
  if (dot == std::string_view::npos) return ReadKey(*section.Child(rest), item, place);
  const Key& list = *section.Child(rest.substr(0, rest.find('[')));
  const std::string path = JoinPath(place.path, list.name);
  const size_t index = list.list.size(config_, place.at);
  list.list.append(config_, place.at);
  place.at[place.depth++] = index;
  place.path = fmt::format("{}[{}]", path, index);
  findings_.SetInFile(place.path, item);
  ExpandItem(list, rest.substr(dot + 1), item, place);
}

void Reader::Report(Reason reason, const Node& at, std::string message, std::string suggestion) {
  findings_.Add(document_.ProblemAt(reason, at, std::move(message), std::move(suggestion)));
}

void Reader::ReportKind(const Node& node, const std::string& path, const std::string& wanted) {
  Report(Reason::kConfigWrongType, node,
         fmt::format("{} takes {}, not {}", path, wanted, KindText(node)));
}

void Reader::ReportUnknown(const Key& section, const Node& name, const std::string& path) {
  // So that a file of errors costs little.
  if (findings_.IsFull()) return findings_.CountError();
  std::string suggestion =
      Closest(name.scalar, section.ChildNames()).value_or(Elsewhere(schema_, name.scalar));
  Report(Reason::kConfigUnknownKey, name,
         fmt::format("unknown key {}{}", Quoted(name.scalar), path.empty() ? "" : " in " + path),
         std::move(suggestion));
}

}  // namespace tessera::config
