// SPDX-License-Identifier: Apache-2.0
#include "config/show.h"

#include <fmt/core.h>

namespace tessera::config {
namespace {

// `depth`: the number of lists around the section.
void AddChildren(const Key& section, const Config& config, const At& at, size_t depth,
                 Shown& parent);

Shown ShowList(const Key& key, const Config& config, const At& at, size_t depth, std::string path) {
  Shown list{.key = &key, .path = std::move(path)};
  const size_t size = key.list.size(config, at);
  for (size_t i = 0; i < size; ++i) {
    At inner = at;
    inner[depth] = i;
    Shown item{.key = &key, .path = fmt::format("{}[{}]", list.path, i), .is_item = true};
    AddChildren(key, config, inner, depth + 1, item);
    list.children.push_back(std::move(item));
  }
  return list;
}

void AddChildren(const Key& section, const Config& config, const At& at, size_t depth,
                 Shown& parent) {
  for (const Key& key : section.children) {
    if (key.choice.chosen && !key.choice.chosen(config, at)) continue;
    if (!key.expands_to.empty()) continue;
    std::string path = JoinPath(parent.path, key.name);
    if (key.type == Type::kList) {
      parent.children.push_back(ShowList(key, config, at, depth, std::move(path)));
      continue;
    }
    Shown shown{.key = &key, .path = std::move(path)};
    if (key.type == Type::kSection) {
      AddChildren(key, config, at, depth, shown);
    } else {
      shown.value = key.field.load(config, at);
    }
    parent.children.push_back(std::move(shown));
  }
}

}  // namespace

Shown Show(const Schema& schema, const Config& config) {
  Shown root{.key = &schema.root()};
  AddChildren(schema.root(), config, At{}, 0, root);
  return root;
}

void ForEachValue(const Shown& shown, const std::function<void(const Shown&)>& visit) {
  if (shown.key->IsScalar()) visit(shown);
  for (const Shown& child : shown.children) ForEachValue(child, visit);
}

}  // namespace tessera::config
