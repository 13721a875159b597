// SPDX-License-Identifier: Apache-2.0
#include "agent/containerd_config.h"

#include <fnmatch.h>

#include <deque>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/toml.h"
#include "base/log.h"
#include "base/result.h"
#include "base/text.h"

namespace tessera::agent {
namespace {

constexpr size_t kLongest = 1 << 20;  // of one file
constexpr size_t kMostFiles = 100;

// What the files so far say together.
struct Merged {
  Says says = Says::kNothing;
  bool is_version_3 = false;
  bool is_without_cri = false;
};

Result<std::string> ReadWhole(const std::string& path) {
  std::string text = TRY(os::ReadFile(path, kLongest + 1));
  if (text.size() > kLongest) return Fail(Reason::kIo, "{} is longer than 1 MiB", path);
  return text;
}

bool IsOfCri(const TomlEntry& entry) {
  return entry.table.starts_with("plugins") && entry.table.find("cri") != std::string::npos;
}

// The format is the first file's, which no import may exceed.
void Merge(const std::vector<TomlEntry>& file, bool is_first, Merged& merged) {
  bool has_cri = false;
  bool told = false;
  for (const TomlEntry& entry : file) {
    const bool at_top = entry.table.empty();
    if (at_top && is_first && entry.key == "version") merged.is_version_3 = entry.value == "3";
    if (at_top && entry.key == "disabled_plugins") {
      merged.is_without_cri |= entry.value.find("cri") != std::string::npos;
    }
    has_cri |= IsOfCri(entry);
    if (entry.key != "enable_cdi") continue;
    merged.says = entry.value == "true" ? Says::kYes : Says::kNo;
    told = true;
  }
  // To containerd 1 these are all settings of CRI: those of former files are forgotten. Of a no,
  // only containerd 2 thinks so.
  if (has_cri && !told && merged.says == Says::kYes) merged.says = Says::kNothing;
}

// A `*` matches a leading dot as well, as containerd has it.
Result<std::vector<std::string>> Matches(const os::Root& root, const std::string& pattern) {
  std::vector<std::string> found = {""};
  for (const std::string& part : Split(pattern.substr(1), '/')) {
    std::vector<std::string> next;
    for (const std::string& directory : found) {
      if (part.find_first_of("*?[\\") == std::string::npos) {
        next.push_back(directory + "/" + part);
        continue;
      }
      const auto names = os::ListDirectory(root.Path(directory + "/"));
      if (!names && names.error().reason != Reason::kNotFound) return Fail(names.error());
      for (const std::string& name : names.value_or(std::vector<std::string>())) {
        if (fnmatch(part.c_str(), name.c_str(), 0) == 0) next.push_back(directory + "/" + name);
      }
    }
    if (next.size() > kMostFiles) return Fail(Reason::kIo, "too many files match {}", pattern);
    found = std::move(next);
  }
  std::erase_if(found, [&](const std::string& path) { return !os::Exists(root.Path(path)); });
  return found;
}

// The files that this one imports, in order: a path, or a pattern where there is a `*`, from the
// file's own directory on where it is not absolute.
Result<std::vector<std::string>> ImportsOf(const os::Root& root, const std::string& path,
                                           const std::vector<TomlEntry>& file) {
  std::vector<std::string> imports;
  for (const TomlEntry& entry : file) {
    if (entry.key != "imports" || !entry.table.empty()) continue;
    for (std::string import : TomlStrings(entry.value)) {
      if (!import.starts_with('/')) import.insert(0, path.substr(0, path.rfind('/') + 1));
      if (import.find('*') == std::string::npos) {
        imports.push_back(std::move(import));
        continue;
      }
      for (std::string& match : TRY(Matches(root, import))) imports.push_back(std::move(match));
    }
  }
  return imports;
}

// Every file once: imports may go round in a circle.
Status MergeAll(const os::Root& root, const std::string& path, Merged& merged) {
  std::set<std::string> read;
  std::deque<std::string> pending = {path};
  while (!pending.empty()) {
    const std::string next = std::move(pending.front());
    pending.pop_front();
    if (!read.insert(next).second) continue;
    if (read.size() > kMostFiles) return Fail(Reason::kIo, "{}: it imports too many files", path);
    const std::vector<TomlEntry> file = TomlEntries(TRY(ReadWhole(root.Path(next))));
    Merge(file, read.size() == 1, merged);
    for (std::string& import : TRY(ImportsOf(root, next, file))) {
      pending.push_back(std::move(import));
    }
  }
  return {};
}

}  // namespace

Says ContainerdSays(const os::Root& root, const std::string& path) {
  if (!os::Exists(root.Path(path))) return Says::kNothing;
  Merged merged;
  const Status all = MergeAll(root, path, merged);
  if (merged.is_without_cri) return Says::kNothing;
  if (all && merged.says == Says::kNothing && merged.is_version_3) return Says::kYes;
  if (all || merged.says == Says::kNo) return merged.says;
  log::Info("what containerd's configuration says of CDI is not known: a part cannot be read",
            {{"configuration", path}, {"error", all.error().message}});
  return Says::kNothing;
}

}  // namespace tessera::agent
