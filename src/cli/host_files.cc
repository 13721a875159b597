// SPDX-License-Identifier: Apache-2.0
#include "cli/host_files.h"

#include <string_view>
#include <utility>

#include "os/files.h"
#include "os/process.h"

namespace tessera::cli {
namespace {

bool IsBelow(std::string_view path, std::string_view directory) {
  return path.starts_with(directory) &&
         (path.size() == directory.size() || path[directory.size()] == '/');
}

}  // namespace

HostFiles HostFiles::Here(std::vector<HostTree> trees) {
  if (!os::RunsInPod()) return HostFiles(std::move(trees));
  // A pod has only the device nodes that its runtime gave it; other nodes may exist.
  return HostFiles(std::move(trees), [](const std::string& path) {
    return !IsBelow(path, "/dev") && !os::OnSameMount(path, "/");
  });
}

HostFiles::Found HostFiles::StateOf(const std::string& path) const {
  std::vector<std::string> places;
  for (const HostTree& tree : trees_) {
    if (IsBelow(path, tree.host)) places.push_back(tree.seen + path.substr(tree.host.size()));
  }
  places.push_back(path);
  Found found;
  for (const std::string& place : places) {
    const auto info = os::Inspect(place);
    const bool device = info && (info->type == os::FileInfo::Type::kCharDevice ||
                                 info->type == os::FileInfo::Type::kBlockDevice);
    // A link leads below the host's root, not below this process's.
    const bool there = info && (place != path || os::InspectTarget(place));
    const bool hosts = device || !is_hosts_ || is_hosts_(place);
    if (there && hosts) return {State::kThere, place};
    if (MayBeSeen(place)) found.state = State::kMissing;
  }
  return found;
}

// By the nearest existing directory above it.
bool HostFiles::MayBeSeen(const std::string& path) const {
  if (!is_hosts_) return true;
  if (!path.starts_with('/')) return false;
  std::string above = path;
  do {
    above.resize(above.rfind('/'));
  } while (!above.empty() && !os::InspectTarget(above));
  return !above.empty() && is_hosts_(above);
}

}  // namespace tessera::cli
