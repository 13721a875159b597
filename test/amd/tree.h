// SPDX-License-Identifier: Apache-2.0
// A tree of files in memory, and how one on the disk becomes it. Paths are absolute; a directory of
// the caller's is put before them. Any thread, but only one for each directory.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace tessera::amd {

class Tree {
 public:
  // Parents come by themselves.
  void AddDirectory(const std::string& path);
  void AddFile(const std::string& path, std::string content);
  void AddLine(const std::string& path, const std::string& line) { AddFile(path, line + "\n"); }
  // `target` is absolute; the link is relative.
  void AddLink(const std::string& path, const std::string& target);

  // Makes the files below `directory`, which are those of `before`, the files of this tree. The
  // files of others stay. Throws std::runtime_error.
  void Replace(const Tree& before, const std::string& directory) const;

 private:
  enum class Kind : uint8_t { kDirectory, kFile, kLink };
  struct Entry {
    Kind kind = Kind::kDirectory;
    std::string content;
    bool operator==(const Entry&) const = default;
  };

  void Add(const std::string& path, Entry entry);
  static void Remove(const std::string& path, const Entry& entry);
  static void Make(const std::string& path, const Entry& entry, const Entry* before);

  std::map<std::string, Entry> entries_;  // a directory before what is in it
};

// Replaces the file by renaming.
void ReplaceLine(const std::string& path, const std::string& line);

}  // namespace tessera::amd
