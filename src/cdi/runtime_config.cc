// SPDX-License-Identifier: Apache-2.0
#include "cdi/runtime_config.h"

#include <fnmatch.h>
#include <toml++/toml.h>

#include <deque>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "base/text.h"

namespace tessera {
namespace {

constexpr size_t kLongest = 1 << 20;  // of one file
constexpr size_t kMostFiles = 100;
// containerd's formats: the first that only containerd 2 reads, and the newest known.
constexpr int64_t kOfContainerd2 = 3;
constexpr int64_t kNewest = 4;

// The result of the files so far.
struct MergedFiles {
  Says says = Says::kNothing;
  int64_t version = 0;
  bool is_without_cri = false;
  std::set<std::string> handlers{};
};

Result<toml::table> ReadTable(const std::string& path) {
  const std::string text = TRY(os::ReadFile(path, kLongest + 1));
  if (text.size() > kLongest) return Fail(Reason::kIo, "{} is longer than 1 MiB", path);
  toml::parse_result parsed = toml::parse(std::string_view(text));
  if (parsed) return std::move(parsed).table();
  return Fail(Reason::kInvalid, "{} is not valid TOML: line {}: {}", path,
              parsed.error().source().begin.line, parsed.error().description());
}

// The texts of a list; empty for any other value.
std::vector<std::string> TextsIn(toml::node_view<const toml::node> list) {
  std::vector<std::string> texts;
  if (const toml::array* array = list.as_array()) {
    for (const toml::node& item : *array) {
      if (const auto text = item.value<std::string>()) texts.push_back(*text);
    }
  }
  return texts;
}

bool IsCri(std::string_view plugin) {
  return plugin.find("cri") != std::string_view::npos;
}

// The file's own setting; null: it has no CRI settings.
std::optional<Says> SaidOfCri(const toml::table& file) {
  const toml::table* plugins = file["plugins"].as_table();
  if (plugins == nullptr) return std::nullopt;
  std::optional<Says> says;
  for (const auto& [name, plugin] : *plugins) {
    if (!IsCri(name.str())) continue;
    if (!says) says = Says::kNothing;
    const toml::table* settings = plugin.as_table();
    const toml::node* value = settings == nullptr ? nullptr : settings->get("enable_cdi");
    if (value != nullptr) says = value->value_or(false) ? Says::kYes : Says::kNo;
  }
  return says;
}

void AddHandlers(const toml::table& file, std::set<std::string>& handlers) {
  const toml::table* plugins = file["plugins"].as_table();
  if (plugins == nullptr) return;
  for (const auto& [name, plugin] : *plugins) {
    const auto runtimes = toml::node_view<const toml::node>(plugin)["containerd"]["runtimes"];
    const toml::table* table = IsCri(name.str()) ? runtimes.as_table() : nullptr;
    if (table == nullptr) continue;
    for (const auto& [handler, settings] : *table) handlers.emplace(handler.str());
  }
}

// The first file's format counts; no import may exceed it.
void Merge(const toml::table& file, bool is_first, MergedFiles& merged) {
  if (is_first) merged.version = file["version"].value_or(int64_t{0});
  for (const std::string& plugin : TextsIn(file["disabled_plugins"])) {
    merged.is_without_cri |= IsCri(plugin);
  }
  AddHandlers(file, merged.handlers);
  const std::optional<Says> says = SaidOfCri(file);
  if (says && *says != Says::kNothing) {
    merged.says = *says;
  } else if (says && merged.says == Says::kYes) {
    // The file has CRI settings without enable_cdi. containerd 1 takes them as the whole and
    // forgets a former file's setting; containerd 2 merges. So a former yes is unsure, and a former
    // no stays.
    merged.says = Says::kNothing;
  }
}

// A `*` matches a leading dot too, as in containerd.
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

// The files that this one imports, in order. A relative path starts at the file's directory; a `*`
// makes a pattern.
Result<std::vector<std::string>> ImportsOf(const os::Root& root, const std::string& path,
                                           const toml::table& file) {
  std::vector<std::string> imports;
  for (std::string import : TextsIn(file["imports"])) {
    if (!import.starts_with('/')) import.insert(0, path.substr(0, path.rfind('/') + 1));
    if (import.find('*') == std::string::npos) {
      imports.push_back(std::move(import));
      continue;
    }
    for (std::string& match : TRY(Matches(root, import))) imports.push_back(std::move(match));
  }
  return imports;
}

// Reads every file once, as imports may form a cycle.
Status MergeAll(const os::Root& root, const std::string& path, MergedFiles& merged) {
  std::set<std::string> read;
  std::deque<std::string> pending = {path};
  while (!pending.empty()) {
    const std::string next = std::move(pending.front());
    pending.pop_front();
    if (!read.insert(next).second) continue;
    if (read.size() > kMostFiles) return Fail(Reason::kIo, "{}: it imports too many files", path);
    const toml::table file = TRY(ReadTable(root.Path(next)));
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
  MergedFiles merged;
  const Status all = MergeAll(root, path, merged);
  if (merged.version > kNewest) {
    log::Info(
        "containerd's configuration has a newer format than this agent knows; it is read as the "
        "newest known one",
        {{"configuration", path}, {"version", merged.version}, {"known", kNewest}});
  }
  if (merged.is_without_cri) return Says::kNothing;
  if (all && merged.says == Says::kNothing && merged.version >= kOfContainerd2) return Says::kYes;
  if (all || merged.says == Says::kNo) return merged.says;
  log::Info("cannot read all of containerd's configuration, so its CDI setting is unknown",
            {{"configuration", path}, {"error", all.error().message}});
  return Says::kNothing;
}

std::optional<std::set<std::string>> ContainerdHandlers(const os::Root& root,
                                                        const std::string& path) {
  MergedFiles merged;
  if (!MergeAll(root, path, merged) || merged.handlers.empty()) return std::nullopt;
  return std::move(merged.handlers);
}

Says CrioSays(const os::Root& root, const std::string& path) {
  const Result<toml::table> file = ReadTable(root.Path(path));
  if (file && (*file)["crio"]["runtime"]["cdi_spec_dirs"]) return Says::kYes;
  return Says::kNothing;
}

}  // namespace tessera
