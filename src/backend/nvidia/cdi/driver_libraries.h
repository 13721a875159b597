// SPDX-License-Identifier: Apache-2.0
// The driver's libraries below a root: which version of the driver there is, and the files of that
// version that programs in a container load. Looks at files; any thread.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::nvidia {

// A tree of files that is somebody's root: the driver's.
struct Tree {
  std::string seen{};  // where this process sees it; "": it is its own root
  std::string host{};  // where it is on the host, likewise

  // Where that path of the tree leads, as a path of the tree; links in it mean its root.
  std::string Follow(const std::string& path) const;
  bool Has(const std::string& path) const;  // a file, a directory, whatever
};

// A file, and where containers get it.
struct DriverFile {
  std::string path;    // in the container; below the tree as well, unless it is moved
  std::string source;  // below the tree, without links
  bool operator==(const DriverFile&) const = default;
};

// A link that programs load a library by.
struct NameLink {
  std::string path;    // "/usr/lib64/libcuda.so"
  std::string target;  // "libcuda.so.1", from its directory
  std::string source;  // the file behind both
  bool operator==(const NameLink&) const = default;
};

struct DriverLibraries {
  std::string version{};                   // "570.172.08"; empty: there is no driver
  std::vector<std::string> directories{};  // that hold them
  std::vector<DriverFile> files{};
  std::vector<NameLink> links{};
  bool operator==(const DriverLibraries&) const = default;
};

DriverLibraries FindLibraries(const Tree& tree);

// Links in this directory that lead to one of these files in it.
std::vector<NameLink> LinksTo(const Tree& tree, const std::string& directory,
                              const std::set<std::string>& sources);

// Names in a directory of the tree that a pattern with "*" fits, sorted.
std::vector<std::string> NamesLike(const Tree& tree, const std::string& directory,
                                   std::string_view pattern);

}  // namespace tessera::nvidia
