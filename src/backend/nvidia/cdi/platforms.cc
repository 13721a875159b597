// SPDX-License-Identifier: Apache-2.0
#include "backend/nvidia/cdi/platforms.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "os/files.h"

namespace tessera::nvidia {
namespace {

constexpr char kStores[] = "/usr/lib/wsl/drivers";
constexpr char kDxCore[] = "/usr/lib/wsl/lib/libdxcore.so";
constexpr char kLists[] = "/etc/nvidia-container-runtime/host-files-for-container.d";
constexpr std::array<std::string_view, 3> kListNames = {"devices", "drivers", "l4t"};

void Mount(const Tree& tree, const std::string& path, cdi::Edits& edits) {
  const std::string source = tree.Follow(path);
  if (!tree.Has(source)) return;
  edits.mounts.push_back(
      {.host_path = tree.host + source, .container_path = path, .options = ReadOptions()});
}

// Whether the file of a driver store is a library, or is loaded by one.
bool IsOfStore(std::string_view name) {
  if (name == "nvidia-smi") return true;
  const bool library = name.ends_with(".so") || name.find(".so.") != std::string_view::npos;
  return library || name.ends_with(".bin") || name.ends_with(".dll");
}

void AddWsl(const Tree& tree, const Hooks& hooks, cdi::Edits& edits) {
  DriverLibraries libraries;
  std::vector<std::string> links;
  for (const std::string& name : NamesLike(tree, kStores, "nv*")) {
    const std::string store = fmt::format("{}/{}", kStores, name);
    if (!tree.Has(store + "/libcuda.so.1.1")) continue;
    libraries.directories.push_back(store);
    for (const std::string& file : NamesLike(tree, store, "*")) {
      const std::string path = fmt::format("{}/{}", store, file);
      if (!IsOfStore(file)) continue;
      Mount(tree, path, edits);
      libraries.files.push_back({path, tree.Follow(path)});
    }
    links = {fmt::format("{}/nvidia-smi::/usr/bin/nvidia-smi", store)};
    if (hooks.available()) continue;
    const std::string cuda = tree.Follow(store + "/libcuda.so.1.1");
    libraries.links.push_back({store + "/libcuda.so.1", "libcuda.so.1.1", cuda});
    libraries.links.push_back({store + "/libcuda.so", "libcuda.so.1", cuda});
  }
  if (tree.Has(tree.Follow(kDxCore))) {
    Mount(tree, kDxCore, edits);
    const std::string path = kDxCore;
    libraries.directories.push_back(path.substr(0, path.rfind('/')));
    libraries.files.push_back({path, tree.Follow(path)});
  }
  if (hooks.available()) {
    hooks.AddLinks(links, edits);
    hooks.AddFor(libraries, edits);
  } else {
    MountUnderAllNames(tree, libraries, edits);
  }
}

// The paths that match a path with "*".
std::vector<std::string> Expanded(const Tree& tree, const std::string& path) {
  if (path.find('*') == std::string::npos) return {path};
  const size_t slash = path.rfind('/');
  std::vector<std::string> paths;
  for (const std::string& name : NamesLike(tree, path.substr(0, slash), path.substr(slash + 1))) {
    paths.push_back(path.substr(0, slash + 1) + name);
  }
  return paths;
}

// Adds the entry of a line like "dev, /dev/nvhost-ctrl". Other kinds are "dir", "lib" and "sym", a
// link.
void AddListed(const Tree& tree, std::string_view line, const Nodes& nodes, const Hooks& hooks,
               std::vector<std::string>& links, cdi::Edits& edits) {
  const size_t comma = line.find(',');
  if (comma == std::string_view::npos) return;
  const std::string_view kind = Trim(line.substr(0, comma));
  const std::string listed(Trim(line.substr(comma + 1)));
  if (!listed.starts_with('/')) return;
  for (const std::string& path : Expanded(tree, listed)) {
    if (kind == "dev") {
      if (nodes.Has(path)) nodes.Add(path, edits);
    } else if (kind == "sym" && hooks.available()) {
      const std::string target = tree.Follow(path);
      if (target != path && tree.Has(target)) links.push_back(fmt::format("{}::{}", target, path));
    } else if (kind == "dir" || kind == "lib" || kind == "sym") {
      Mount(tree, path, edits);
    }
  }
}

// The lists name libraries in any directory; loaders search few of these by themselves.
DriverLibraries LibrariesIn(const Tree& tree, const std::vector<cdi::Mount>& mounts) {
  DriverLibraries libraries;
  for (const cdi::Mount& mount : mounts) {
    const std::string& path = mount.container_path;
    if (FileName(path).find(".so") == std::string_view::npos) continue;
    libraries.files.push_back({path, mount.host_path.substr(tree.host.size())});
    std::string directory = path.substr(0, path.rfind('/'));
    if (std::ranges::count(libraries.directories, directory) > 0) continue;
    libraries.directories.push_back(std::move(directory));
  }
  return libraries;
}

// The libraries in this directory that loaders search for, without those that programs load by
// path. The host's links are included; in a container the hook makes them.
DriverLibraries OnlyIn(const Tree& tree, const std::string& directory,
                       const DriverLibraries& libraries) {
  DriverLibraries only{.directories = {directory}};
  std::set<std::string> sources;
  for (const DriverFile& file : libraries.files) {
    if (file.path != fmt::format("{}/{}", directory, FileName(file.path))) continue;
    if (!FileName(file.path).starts_with("lib")) continue;
    only.files.push_back(file);
    sources.insert(file.source);
  }
  only.links = LinksTo(tree, directory, sources);
  return only;
}

void AddTegra(const Tree& tree, const Nodes& nodes, const Hooks& hooks, cdi::Edits& edits) {
  std::vector<std::string> links;
  for (const std::string_view name : kListNames) {
    const std::string path = fmt::format("{}/{}.csv", kLists, name);
    const auto text = os::ReadFile(tree.seen + tree.Follow(path));
    for (const std::string& line : Split(text.value_or(""), '\n')) {
      AddListed(tree, line, nodes, hooks, links, edits);
    }
  }
  const DriverLibraries libraries = LibrariesIn(tree, edits.mounts);
  if (hooks.available()) {
    hooks.AddLinks(links, edits);
    hooks.AddFor(libraries, edits);
  } else {
    for (const std::string& directory : libraries.directories) {
      MountUnderAllNames(tree, OnlyIn(tree, directory, libraries), edits);
    }
  }
}

}  // namespace

bool IsWholePlatform(const Device& device) {
  return device.key.id == kWsl || device.key.id == kTegra;
}

void AddPlatform(const Tree& tree, const std::string& device, const Nodes& nodes,
                 const Hooks& hooks, cdi::Edits& edits) {
  if (device == kWsl) AddWsl(tree, hooks, edits);
  if (device == kTegra) AddTegra(tree, nodes, hooks, edits);
}

}  // namespace tessera::nvidia
