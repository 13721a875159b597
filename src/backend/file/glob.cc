// SPDX-License-Identifier: Apache-2.0
#include "backend/file/glob.h"

#include <glob.h>

#include <algorithm>

#include "base/text.h"

namespace tessera::file {
namespace {

constexpr std::string_view kSpecial = "*?[\\";

// The prefix is a path, not a pattern.
std::string Escape(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (kSpecial.find(c) != std::string_view::npos) escaped += '\\';
    escaped += c;
  }
  return escaped;
}

// Frees what glob(3) found.
struct GlobResult : glob_t {
  GlobResult() : glob_t{} {}
  ~GlobResult() { globfree(this); }
  GlobResult(const GlobResult&) = delete;
  GlobResult& operator=(const GlobResult&) = delete;
};

Result<std::vector<std::string>> ExpandLiteral(const os::Root& root, const std::string& path) {
  const Result<os::FileInfo> info = os::Inspect(root.Path(path));
  // A path that cannot be inspected is a match; its device then has the defect.
  if (!info && info.error().reason == Reason::kNotFound) return std::vector<std::string>{};
  return std::vector<std::string>{path};
}

}  // namespace

bool HasWildcard(std::string_view pattern) {
  return pattern.find_first_of(kSpecial) != std::string_view::npos;
}

bool HasSingleStar(std::string_view pattern) {
  const size_t star = pattern.find_first_of(kSpecial);
  return star != std::string_view::npos && pattern[star] == '*' &&
         !HasWildcard(pattern.substr(star + 1));
}

std::string FixedDirectory(std::string_view pattern) {
  const std::string_view fixed = pattern.substr(0, pattern.find_first_of(kSpecial));
  const size_t slash = fixed.rfind('/');
  if (slash == std::string_view::npos || slash == 0) return "/";
  return std::string(fixed.substr(0, slash));
}

std::optional<std::string> WildcardText(std::string_view pattern, std::string_view path) {
  if (!HasSingleStar(pattern)) return std::nullopt;
  const size_t star = pattern.find('*');
  const std::string_view before = pattern.substr(0, star);
  const std::string_view after = pattern.substr(star + 1);
  if (path.size() < before.size() + after.size()) return std::nullopt;
  if (!path.starts_with(before) || !path.ends_with(after)) return std::nullopt;
  path.remove_prefix(before.size());
  path.remove_suffix(after.size());
  if (path.find('/') != std::string_view::npos) return std::nullopt;
  return std::string(path);
}

Result<std::vector<std::string>> Expand(const os::Root& root, const std::string& pattern) {
  if (!HasWildcard(pattern)) return ExpandLiteral(root, pattern);
  const std::string fixed = root.Path(FixedDirectory(pattern));
  if (const auto names = os::ListDirectory(fixed); !names) {
    if (names.error().reason == Reason::kNotFound) return std::vector<std::string>{};
    return Fail(names.error().In("cannot look for " + pattern));
  }
  GlobResult found;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): no thread of ours changes directory or locale
  const int rc = glob((Escape(root.prefix()) + pattern).c_str(), GLOB_NOSORT, nullptr, &found);
  if (rc != 0 && rc != GLOB_NOMATCH) {
    return Fail(Reason::kIo, "cannot look for {}: {} could not be read", pattern, fixed);
  }
  std::vector<std::string> paths;
  for (size_t i = 0; i < found.gl_pathc; ++i)
    paths.push_back(root.WithoutPrefix(found.gl_pathv[i]));
  std::ranges::sort(paths, NaturalLess());
  return paths;
}

std::set<std::string> WatchedDirectories(const os::Root& root, const std::string& pattern) {
  const std::string fixed = FixedDirectory(pattern);
  std::set<std::string> directories = {root.Path(fixed)};
  const size_t begin = fixed == "/" ? 1 : fixed.size() + 1;
  for (size_t slash = pattern.find('/', begin); slash != std::string::npos;
       slash = pattern.find('/', slash + 1)) {
    const auto matches = Expand(root, pattern.substr(0, slash));
    if (!matches) continue;
    for (const std::string& match : *matches) directories.insert(root.Path(match));
  }
  return directories;
}

}  // namespace tessera::file
