// SPDX-License-Identifier: Apache-2.0
#include "backend/nvidia/cdi/driver_libraries.h"

#include <fmt/core.h>
#include <fnmatch.h>

#include <algorithm>
#include <array>

#include "backend/nvidia/cdi/ld_cache.h"
#include "backend/nvidia/nvml/library_directories.h"
#include "base/text.h"
#include "os/files.h"

namespace tessera::nvidia {
namespace {

// Libraries with versions of their own.
constexpr std::array<std::string_view, 4> kOtherPatterns = {
    "libnvidia-nvvm70.so.*", "libnvidia-egl-gbm.so.*.*", "libnvidia-egl-wayland.so.*.*",
    "libnvidia-egl-wayland2.so.*.*"};

// Directories of the X server, below a directory of libraries.
constexpr std::array<std::string_view, 4> kXorgDirectories = {
    "/xorg/modules/drivers", "/xorg/modules/extensions", "/nvidia/xorg", "/xorg"};

// A link that programs need and packages may lack: its name below a directory of libraries, and its
// target.
struct WantedLink {
  std::string_view name;
  std::string_view target;  // from the directory of the link; "VERSION" is the driver's
  std::string_view library;
};
constexpr std::array<WantedLink, 4> kWantedLinks = {
    WantedLink{"libcuda.so", "libcuda.so.1", "libcuda.so.VERSION"},
    WantedLink{"libnvidia-opticalflow.so", "libnvidia-opticalflow.so.1",
               "libnvidia-opticalflow.so.VERSION"},
    WantedLink{"libGLX_indirect.so.0", "libGLX_nvidia.so.VERSION", "libGLX_nvidia.so.VERSION"},
    WantedLink{"gbm/nvidia-drm_gbm.so", "../libnvidia-allocator.so.1",
               "libnvidia-allocator.so.VERSION"}};

std::string DirectoryOf(const std::string& path) {
  return path.substr(0, path.rfind('/'));
}

// "570.172.08" of "libcuda.so.570.172.08"; empty: no version.
std::string VersionIn(std::string_view name, std::string_view library) {
  const std::string begin = fmt::format("{}.so.", library);
  if (!name.starts_with(begin)) return "";
  const std::string_view version = name.substr(begin.size());
  const bool numbers = version.find_first_not_of("0123456789.") == std::string_view::npos;
  const bool parts = version.find('.') != std::string_view::npos;
  const bool plain = !version.starts_with('.') && !version.ends_with('.');
  return numbers && parts && plain ? std::string(version) : "";
}

std::string Versioned(std::string_view text, const std::string& version) {
  constexpr std::string_view kVersion = "VERSION";
  std::string out(text);
  const size_t at = out.find(kVersion);
  return at == std::string::npos ? out : out.replace(at, kVersion.size(), version);
}

// Each directory once, by its real path.
std::vector<std::string> LibraryDirectories(const Tree& tree) {
  std::vector<std::string> directories;
  const auto add = [&](const std::string& directory) {
    const std::string real = tree.Follow(directory);
    if (real.empty() || std::ranges::count(directories, real) > 0 || !tree.Has(real)) return;
    directories.push_back(real);
  };
  constexpr size_t kMostBytes = 16 << 20;
  const auto cache = os::ReadFile(tree.seen + tree.Follow("/etc/ld.so.cache"), kMostBytes);
  std::set<std::string> cached;
  for (const CachedLibrary& library : ReadLdCache(cache.value_or(""))) {
    if (cached.insert(DirectoryOf(library.path)).second) add(DirectoryOf(library.path));
  }
  for (const std::string_view directory : kLibraryDirectories)
    add(std::string(directory));  // in case the cache lacks it
  // Debian's packages have the driver in its own directory, behind /etc/alternatives.
  for (const std::string& directory : std::vector<std::string>(directories)) {
    for (const char* name : {"/libcuda.so.1", "/libnvidia-ml.so.1"}) {
      const std::string real = tree.Follow(directory + name);
      if (tree.Has(real)) add(DirectoryOf(real));
    }
  }
  return directories;
}

// The version that the loader takes, or the only one.
std::string VersionOf(const Tree& tree, const std::vector<std::string>& directories) {
  for (const std::string_view library : {"libcuda", "libnvidia-ml"}) {
    for (const std::string& directory : directories) {
      const std::string named = fmt::format("{}/{}.so.1", directory, library);
      const std::string version = VersionIn(FileName(tree.Follow(named)), library);
      if (!version.empty() && tree.Has(tree.Follow(named))) return version;
      for (const std::string& name : NamesLike(tree, directory, fmt::format("{}.so.*", library))) {
        const std::string found = VersionIn(name, library);
        if (!found.empty()) return found;
      }
    }
  }
  return "";
}

class Search {
 public:
  explicit Search(const Tree& tree) : tree_(tree) {}

  DriverLibraries Take() {
    const std::vector<std::string> directories = LibraryDirectories(tree_);
    found_.version = VersionOf(tree_, directories);
    if (found_.version.empty()) return std::move(found_);
    const std::string driver = "lib*.so." + found_.version;
    for (const std::string& directory : directories) {
      if (NamesLike(tree_, directory, driver).empty()) continue;
      found_.directories.push_back(directory);
      AddIn(directory);
    }
    for (const std::string& directory : found_.directories) AddLinks(directory);
    return std::move(found_);
  }

 private:
  void Add(const std::string& directory, const std::string& pattern) {
    for (const std::string& name : NamesLike(tree_, directory, pattern)) {
      const std::string path = fmt::format("{}/{}", directory, name);
      const std::string source = tree_.Follow(path);
      if (!tree_.Has(source) || !paths_.insert(path).second) continue;
      found_.files.push_back({path, source});
    }
  }

  void AddIn(const std::string& directory) {
    Add(directory, "*.so." + found_.version);
    Add(directory + "/vdpau", "*.so." + found_.version);
    for (const std::string_view pattern : kOtherPatterns) Add(directory, std::string(pattern));
    for (const std::string_view xorg : kXorgDirectories) {
      Add(directory + std::string(xorg), "nvidia_drv.so");
      Add(directory + std::string(xorg), "libglxserver_nvidia.so." + found_.version);
    }
  }

  // Adds the host's links, and links that programs need although packages may lack them.
  void AddLinks(const std::string& directory) {
    std::set<std::string> sources;
    for (const DriverFile& file : found_.files) sources.insert(file.source);
    for (const WantedLink& wanted : kWantedLinks) {
      const std::string library = directory + "/" + Versioned(wanted.library, found_.version);
      if (paths_.contains(library)) {
        AddLink(directory + "/" + std::string(wanted.name),
                Versioned(wanted.target, found_.version), tree_.Follow(library));
      }
    }
    for (const std::string& below : {directory, directory + "/vdpau"}) {
      for (const NameLink& link : LinksTo(tree_, below, sources)) {
        AddLink(link.path, link.target, link.source);
      }
    }
  }

  void AddLink(const std::string& path, const std::string& target, const std::string& source) {
    if (paths_.insert(path).second) found_.links.push_back({path, target, source});
  }

  const Tree& tree_;
  DriverLibraries found_;
  std::set<std::string> paths_;  // in the container
};

}  // namespace

std::string Tree::Follow(const std::string& path) const {
  return os::FollowBelow(seen, seen + path).substr(seen.size());
}

bool Tree::Has(const std::string& path) const {
  return os::Exists(seen + path);
}

std::vector<std::string> NamesLike(const Tree& tree, const std::string& directory,
                                   std::string_view pattern) {
  const std::string text(pattern);
  auto names =
      os::ListDirectory(tree.seen + tree.Follow(directory)).value_or(std::vector<std::string>());
  std::erase_if(names, [&](const std::string& name) {
    return fnmatch(text.c_str(), name.c_str(), FNM_NOESCAPE) != 0;
  });
  return names;
}

std::vector<NameLink> LinksTo(const Tree& tree, const std::string& directory,
                              const std::set<std::string>& sources) {
  std::vector<NameLink> links;
  const std::string real = tree.Follow(directory);
  for (const std::string& name : NamesLike(tree, directory, "lib*.so*")) {
    const std::string path = directory + "/" + name;
    const std::string source = tree.Follow(path);
    if (!sources.contains(source) || DirectoryOf(source) != real || FileName(source) == name) {
      continue;
    }
    links.push_back({path, std::string(FileName(source)), source});
  }
  return links;
}

DriverLibraries FindLibraries(const Tree& tree) {
  return Search(tree).Take();
}

}  // namespace tessera::nvidia
