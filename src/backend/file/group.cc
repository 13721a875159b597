// SPDX-License-Identifier: Apache-2.0
#include "backend/file/group.h"

#include <algorithm>
#include <map>
#include <optional>

#include "backend/file/glob.h"
#include "base/text.h"

namespace tessera::file {
namespace {

// Files of one path by what they have in common with files of the others: the text of the `*`, or
// their place in line.
using ByKey = std::map<std::string, std::string, NaturalLess>;

bool PairsByText(const FileConfig::Group& group) {
  return std::ranges::all_of(group.paths, [](const FileConfig::Path& path) {
    return !HasWildcard(path.pattern) || HasSingleStar(path.pattern);
  });
}

ByKey KeyedBy(bool text, const std::string& pattern, const std::vector<std::string>& files) {
  ByKey keyed;
  for (size_t i = 0; i < files.size(); ++i) {
    std::optional<std::string> key = text ? WildcardText(pattern, files[i]) : std::to_string(i);
    if (key) keyed.emplace(*std::move(key), files[i]);
  }
  return keyed;
}

// A group's paths, each with its files under their keys.
struct Candidates {
  const FileConfig::Group& group;
  std::vector<ByKey> by_key;  // empty for paths without wildcards
  const std::vector<std::vector<std::string>>& matches;
  bool one_device;  // no required wildcard tells several devices apart

  // The file of one path for the device `key`.
  std::optional<std::string> Find(size_t path, const std::string& key) const {
    if (one_device || !HasWildcard(group.paths[path].pattern)) {
      if (matches[path].empty()) return std::nullopt;
      return matches[path].front();
    }
    const auto it = by_key[path].find(key);
    if (it == by_key[path].end()) return std::nullopt;
    return it->second;
  }

  // The device `key` with the file of `leader` first, or nothing when it is not complete.
  std::optional<Members> Device(std::optional<size_t> leader, const std::string& key) const {
    Members members;
    for (size_t path = 0; path < group.paths.size(); ++path) {
      std::optional<std::string> file = Find(path, key);
      if (!file && !group.paths[path].optional) return std::nullopt;
      if (!file) continue;
      members.insert(path == leader ? members.begin() : members.end(), {path, *std::move(file)});
    }
    if (members.empty()) return std::nullopt;
    return members;
  }
};

}  // namespace

std::vector<Members> Combine(const FileConfig::Group& group,
                             const std::vector<std::vector<std::string>>& matches) {
  const auto leads = [](const FileConfig::Path& path) {
    return HasWildcard(path.pattern) && !path.optional;
  };
  const auto leading = std::ranges::find_if(group.paths, leads);
  const bool one_device = leading == group.paths.end();
  const bool text = PairsByText(group);
  Candidates candidates{group, {}, matches, one_device};
  for (size_t path = 0; path < group.paths.size(); ++path) {
    candidates.by_key.push_back(KeyedBy(text, group.paths[path].pattern, matches[path]));
  }
  std::vector<Members> devices;
  if (one_device) {
    if (auto device = candidates.Device(std::nullopt, "")) devices.push_back(*std::move(device));
    return devices;
  }
  const auto leader = static_cast<size_t>(leading - group.paths.begin());
  for (const auto& [key, file] : candidates.by_key[leader]) {
    if (auto device = candidates.Device(leader, key)) devices.push_back(*std::move(device));
  }
  return devices;
}

}  // namespace tessera::file
