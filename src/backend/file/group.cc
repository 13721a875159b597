// SPDX-License-Identifier: Apache-2.0
#include "backend/file/group.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <set>

#include "backend/file/glob.h"
#include "backend/file/pairing.h"

namespace tessera::file {
namespace {

using Matches = std::vector<std::vector<Match>>;

bool PairsByText(const FileConfig::Group& group) {
  return std::ranges::all_of(group.paths, [](const FileConfig::Path& path) {
    return !HasWildcard(path.pattern) || HasSingleStar(path.pattern);
  });
}

// The first path whose matches are several devices; null: the group is one device.
std::optional<size_t> LeaderOf(const FileConfig::Group& group) {
  const auto leader = std::ranges::find_if(group.paths, [](const FileConfig::Path& path) {
    return HasWildcard(path.pattern) && !path.optional;
  });
  if (leader == group.paths.end()) return std::nullopt;
  return static_cast<size_t>(leader - group.paths.begin());
}

// A group's paths, with each path's file for each of the leader's files.
class Candidates {
 public:
  Candidates(const FileConfig::Group& group, const Matches& matches)
      : group_(group), matches_(matches), leader_(LeaderOf(group)) {
    const bool by_text = PairsByText(group);
    for (size_t path = 0; leader_ && path < group.paths.size(); ++path) {
      pairs_.emplace_back();
      if (path == leader_ || !HasWildcard(group.paths[path].pattern)) continue;
      pairs_.back() = PairUp({group.paths[*leader_].pattern, matches[*leader_]},
                             {group.paths[path].pattern, matches[path]},
                             {.by_text = by_text, .required = !group.paths[path].optional});
    }
  }

  Combined Combine() && {
    const size_t devices = leader_ ? matches_[*leader_].size() : 1;
    for (size_t device = 0; device < devices; ++device) Add(device);
    TellUnpaired();
    return std::move(combined_);
  }

 private:
  std::optional<std::string> Find(size_t path, size_t device) const {
    size_t at = 0;
    if (path == leader_) {
      at = device;
    } else if (leader_ && HasWildcard(group_.paths[path].pattern)) {
      if (!pairs_[path][device]) return std::nullopt;
      at = *pairs_[path][device];
    }
    if (at >= matches_[path].size()) return std::nullopt;
    return matches_[path][at].file;
  }

  // Adds the device with its leader's file first, unless it is incomplete.
  void Add(size_t device) {
    Members members;
    for (size_t path = 0; path < group_.paths.size(); ++path) {
      std::optional<std::string> file = Find(path, device);
      if (!file && !group_.paths[path].optional) return Miss(device, path);
      if (!file) continue;
      members.insert(path == leader_ ? members.begin() : members.end(), {path, *std::move(file)});
    }
    if (members.empty()) return;
    for (const Member& member : members) used_.insert(member.file);
    combined_.devices.push_back(std::move(members));
  }

  void Miss(size_t device, size_t path) {
    const std::string& pattern = group_.paths[path].pattern;
    lack_ = HasWildcard(pattern) ? fmt::format("no file of {} belongs to it", pattern)
                                 : fmt::format("{} is missing", pattern);
    if (leader_) incomplete_.emplace_back(*Find(*leader_, device), lack_);
  }

  // Reports the required files that are in no device.
  void TellUnpaired() {
    for (const auto& [file, lack] : incomplete_) Tell(file, lack);
    if (leader_) lack_ = fmt::format("it belongs to no file of {}", group_.paths[*leader_].pattern);
    for (size_t path = 0; path < group_.paths.size(); ++path) {
      const FileConfig::Path& wanted = group_.paths[path];
      // A path without a wildcard belongs to every device.
      if (wanted.optional || (leader_ && !HasWildcard(wanted.pattern))) continue;
      for (const Match& match : matches_[path]) Tell(match.file, lack_);
    }
  }

  void Tell(const std::string& file, const std::string& lack) {
    if (used_.insert(file).second) combined_.unpaired.push_back(fmt::format("{}: {}", file, lack));
  }

  const FileConfig::Group& group_;
  const Matches& matches_;
  const std::optional<size_t> leader_;
  std::vector<std::vector<std::optional<size_t>>> pairs_;  // by path; empty: no pairing needed
  std::vector<std::pair<std::string, std::string>> incomplete_;  // the leader's file, and its lack
  std::string lack_;                                             // the last device's
  std::set<std::string> used_;                                   // in a device, or reported
  Combined combined_;
};

}  // namespace

Combined Combine(const FileConfig::Group& group, const std::vector<std::vector<Match>>& matches) {
  return Candidates(group, matches).Combine();
}

}  // namespace tessera::file
