// SPDX-License-Identifier: Apache-2.0
#include "config/diff.h"

#include <fmt/core.h>

#include <map>
#include <utility>

#include "config/schema/problem.h"
#include "config/show.h"

namespace tessera::config {
namespace {

// A value as text, with its key, to compare.
struct Leaf {
  std::string text;
  const Key* key = nullptr;
};

// The values below `shown`, in order, by their path without `prefix`.
std::vector<std::pair<std::string, Leaf>> LeavesOf(const Shown& shown, size_t prefix) {
  std::vector<std::pair<std::string, Leaf>> leaves;
  ForEachValue(shown, [&](const Shown& value) {
    leaves.emplace_back(value.path.substr(prefix), Leaf{ValueText(value.value), value.key});
  });
  return leaves;
}

using Leaves = std::vector<std::pair<std::string, Leaf>>;

std::vector<Change> CompareLeaves(const Leaves& before, const Leaves& after) {
  const std::map<std::string, Leaf> old(before.begin(), before.end());
  std::map<std::string, Leaf> gone = old;
  std::vector<Change> changes;
  for (const auto& [path, leaf] : after) {
    gone.erase(path);
    const auto found = old.find(path);
    if (found != old.end() && found->second.text == leaf.text) continue;
    changes.push_back({.path = path,
                       .before = found == old.end() ? "" : found->second.text,
                       .after = leaf.text,
                       .effect = leaf.key->effect});
  }
  for (const auto& [path, leaf] : gone) {
    changes.push_back({.path = path, .before = leaf.text, .effect = leaf.key->effect});
  }
  return changes;
}

// The settings outside resources.
Leaves SettingsOf(const Shown& root) {
  Leaves leaves;
  for (const Shown& child : root.children) {
    if (child.key->type == Type::kList) continue;
    for (auto& leaf : LeavesOf(child, 0)) leaves.push_back(std::move(leaf));
  }
  return leaves;
}

const Shown& ResourcesOf(const Shown& root) {
  for (const Shown& child : root.children) {
    if (child.key->name == "resources") return child;
  }
  return root;
}

Leaves ResourceLeaves(const Shown& root, size_t index) {
  const Shown& item = ResourcesOf(root).children[index];
  return LeavesOf(item, item.path.size() + 1);
}

// Indices by name. The second of several families with one name is "NAME (2)".
std::map<std::string, size_t> IndexByName(const Config& config) {
  std::map<std::string, size_t> index;
  std::map<std::string, int> seen;
  for (size_t i = 0; i < config.resources.size(); ++i) {
    const std::string& name = config.resources[i].name;
    const int same = ++seen[name];
    index[same == 1 ? name : fmt::format("{} ({})", name, same)] = i;
  }
  return index;
}

// The names that `others` lacks, in the order of the file.
std::vector<std::string> Without(const std::map<std::string, size_t>& names,
                                 const std::map<std::string, size_t>& others) {
  std::map<size_t, std::string> missing;
  for (const auto& [name, index] : names) {
    if (!others.contains(name)) missing[index] = name;
  }
  std::vector<std::string> list;
  for (const auto& [index, name] : missing) list.push_back(name);
  return list;
}

}  // namespace

Difference Compare(const Schema& schema, const Config& running, const Config& next) {
  Difference difference;
  const Shown before = Show(schema, running);
  const Shown after = Show(schema, next);
  difference.settings = CompareLeaves(SettingsOf(before), SettingsOf(after));
  const std::map<std::string, size_t> old = IndexByName(running);
  const std::map<std::string, size_t> now = IndexByName(next);
  difference.removed = Without(old, now);
  difference.added = Without(now, old);
  std::map<size_t, ResourceChange> changed;  // in order of the file
  for (const auto& [name, i] : now) {
    const auto found = old.find(name);
    if (found == old.end()) continue;
    if (running.resources[found->second] == next.resources[i]) continue;
    changed[i] = {
        .name = name,
        .changes = CompareLeaves(ResourceLeaves(before, found->second), ResourceLeaves(after, i))};
    // Its own settings are the same, but earlier resources claim other devices.
    if (changed[i].changes.empty()) {
      changed[i].changes = {
          {.path = "earlier resources", .before = "as they were", .after = "others"}};
    }
  }
  for (auto& [i, change] : changed) difference.changed.push_back(std::move(change));
  return difference;
}

Config KeepUntilRestart(const Schema& schema, const Config& running, Config next) {
  ForEachValue(Show(schema, running), [&](const Shown& shown) {
    if (shown.key->effect == Effect::kRestart) {
      shown.key->field.store(next, At{}, shown.value);
    }
  });
  return next;
}

std::vector<std::string> RestartWarnings(const std::vector<Change>& changes) {
  std::vector<std::string> warnings;
  for (const Change& change : changes) {
    if (change.effect != Effect::kRestart) continue;
    warnings.push_back(
        fmt::format("{} stays {} until the agent is restarted; the configuration now says {}",
                    change.path, Quoted(change.before), Quoted(change.after)));
  }
  return warnings;
}

}  // namespace tessera::config
