// SPDX-License-Identifier: Apache-2.0
// The driver's libraries below a root: its version, and the files of that version that programs in
// a container load. Looks at files; any thread.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::nvidia {

// The tree of files below the driver's root.
struct Tree {
  std::string seen{};  // its path in this process; "": the process's own root
  std::string host{};  // its path on the host; "": the host's root

  // Follows links in that path of the tree to a path of the tree. An absolute link starts at the
  // tree's root.
  std::string Follow(const std::string& path) const;
  bool Has(const std::string& path) const;  // of any type
};

// A file, and its place in containers.
struct DriverFile {
  std::string path;    // in the container; also below the tree, unless it is moved
  std::string source;  // below the tree, with links followed
  bool operator==(const DriverFile&) const = default;
};

// A link by which programs load a library.
struct NameLink {
  std::string path;    // "/usr/lib64/libcuda.so"
  std::string target;  // "libcuda.so.1", relative to its directory
  std::string source;  // the file that both lead to
  bool operator==(const NameLink&) const = default;
};

struct DriverLibraries {
  std::string version{};                   // "570.172.08"; empty: there is no driver
  std::vector<std::string> directories{};  // those with the files
  std::vector<DriverFile> files{};
  std::vector<NameLink> links{};
  bool operator==(const DriverLibraries&) const = default;
};

DriverLibraries FindLibraries(const Tree& tree);

// The links in this directory that lead to one of these files in it.
std::vector<NameLink> LinksTo(const Tree& tree, const std::string& directory,
                              const std::set<std::string>& sources);

// The names in a directory of the tree that match a pattern with "*", sorted.
std::vector<std::string> NamesLike(const Tree& tree, const std::string& directory,
                                   std::string_view pattern);

}  // namespace tessera::nvidia
