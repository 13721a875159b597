// SPDX-License-Identifier: Apache-2.0
#include "compat/rdma_shared/fields.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/characters.h"
#include "base/text.h"

namespace tessera::config::rdma_shared {
namespace {

// A translation of more is larger than a configuration may be.
constexpr size_t kMostInFile = 2048;

std::string InLowerCase(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), ToLower);
  return lower;
}

bool IsPlainName(std::string_view name, std::string_view others) {
  return !name.empty() && std::ranges::all_of(name, [&](char c) {
    return IsAlphanumeric(c) || others.find(c) != others.npos;
  });
}

}  // namespace

Fields::Fields(File& file, const Node& map, std::string path, const std::vector<std::string>& known)
    : file_(file), map_(map), path_(std::move(path)) {
  if (!map.IsMap()) {
    if (!map.IsNull()) {
      file_.document.Report(Reason::kConfigWrongType, map,
                            (path_.empty() ? "the file" : path_) + " takes an object of keys");
    }
    return;
  }
  std::map<std::string, std::string, std::less<>> names;
  for (const std::string& name : known) names.emplace(InLowerCase(name), name);
  for (const Node::Entry& entry : map.entries) {
    const std::string name = InLowerCase(entry.key.scalar);
    if (names.contains(name)) {
      if (!entry.value.IsNull()) values_.insert_or_assign(name, &entry.value);
      continue;
    }
    file_.warnings.push_back(file_.document.ProblemAt(
        Reason::kConfigUnknownKey, entry.key,
        fmt::format("unknown key {} has no effect, as in the plugin", PathOf(entry.key.scalar)),
        Closest(entry.key.scalar, known).value_or("")));
  }
}

const Node* Fields::Find(std::string_view name) const {
  const auto value = values_.find(InLowerCase(name));
  return value == values_.end() ? nullptr : value->second;
}

std::string Fields::PathOf(std::string_view name) const {
  return path_.empty() ? std::string(name) : fmt::format("{}.{}", path_, name);
}

void Fields::Report(std::string_view name, std::string message) const {
  const Node* const node = Find(name);
  file_.document.Report(Reason::kConfigBadValue, node == nullptr ? map_ : *node,
                        fmt::format("{} {}", PathOf(name), message));
}

void Fields::Warn(std::string_view name, std::string message) const {
  const Node* const node = Find(name);
  file_.warnings.push_back(file_.document.ProblemAt(Reason::kConfigBadValue,
                                                    node == nullptr ? map_ : *node,
                                                    fmt::format("{} {}", PathOf(name), message)));
}

std::string Fields::Text(std::string_view name, std::string_view otherwise) const {
  const Node* const node = Find(name);
  if (node == nullptr) return std::string(otherwise);
  const auto text = file_.document.Text(*node, PathOf(name));
  return text && !text->empty() ? *text : std::string(otherwise);
}

bool Fields::Bool(std::string_view name) const {
  const Node* const node = Find(name);
  return node != nullptr && file_.document.Bool(*node, PathOf(name)).value_or(false);
}

std::optional<int64_t> Fields::Int(std::string_view name, int64_t min, int64_t max) const {
  const Node* const node = Find(name);
  return node == nullptr ? std::nullopt : file_.document.Int(*node, PathOf(name), min, max);
}

std::vector<std::string> Fields::Texts(std::string_view name, Form form) const {
  std::vector<std::string> texts;
  for (const Node& item : file_.document.List(Find(name), PathOf(name))) {
    const auto text = file_.document.Text(item, PathOf(name));
    if (text) texts.push_back(form == Form::kLower ? InLowerCase(*text) : *text);
  }
  return texts;
}

std::string NameIn(const Fields& fields, std::string_view default_prefix) {
  const std::string name = fields.Text("resourceName");
  const std::string prefix = fields.Text("resourcePrefix", default_prefix);
  if (!IsPlainName(name, "_-.")) {
    fields.Report("resourceName",
                  name.empty() ? "is missing: kubelet needs the name that pods ask for"
                               : fmt::format("takes letters, digits, '-', '_' and '.', not {}",
                                             Quoted(name)));
    return "";
  }
  if (!IsPlainName(prefix, "-.")) {
    fields.Report("resourcePrefix",
                  fmt::format("takes a domain such as 'example.com', not {}", Quoted(prefix)));
    return "";
  }
  return prefix + "/" + name;
}

std::optional<json::Array> SelectOf(const std::vector<Alternatives>& all, File& file) {
  size_t product = 1;
  for (const Alternatives& one : all) {
    product *= std::max(one.values.size(), size_t{1});
    if (product > kMostEntries) return std::nullopt;
  }
  const bool is_every =
      std::ranges::all_of(all, &std::vector<std::string>::empty, &Alternatives::values);
  if (!is_every && product > kMostInFile - file.entries) return std::nullopt;
  std::vector<json::Object> entries(1);
  for (const Alternatives& one : all) {
    if (one.values.empty()) continue;
    std::vector<json::Object> more;
    for (const json::Object& entry : entries) {
      for (const std::string& value : one.values) {
        json::Object next = entry;
        next[one.key] = value;
        more.push_back(std::move(next));
      }
    }
    entries = std::move(more);
  }
  json::Array select;
  for (json::Object& entry : entries) {
    if (!entry.empty()) select.emplace_back(std::move(entry));
  }
  file.entries += select.size();
  return select;
}

bool ReportObject(File& file) {
  const std::string trouble = ObjectTrouble(file.document.root());
  if (trouble.empty()) return false;
  file.document.Report(Reason::kConfigWrongType, file.document.root(), trouble);
  return true;
}

}  // namespace tessera::config::rdma_shared
