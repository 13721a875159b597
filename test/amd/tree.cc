// SPDX-License-Identifier: Apache-2.0
#include "amd/tree.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <ranges>
#include <stdexcept>

#include "os/files.h"

namespace tessera::amd {
namespace {

constexpr mode_t kFileMode = 0644;
constexpr mode_t kDirectoryMode = 0755;

[[noreturn]] void Fail(const std::string& path) {
  const int error = errno;
  throw std::runtime_error(
      fmt::format("cannot change {}: {}", path, std::generic_category().message(error)));
}

void MustBe(const Status& status) {
  if (!status) throw std::runtime_error(status.error().message);
}

// For a file that nobody reads yet.
void WritePlainly(const std::string& path, const std::string& content) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kFileMode);
  if (file < 0) Fail(path);
  const ssize_t written = write(file, content.data(), content.size());
  close(file);
  if (written != static_cast<ssize_t>(content.size())) Fail(path);
}

// Links to a device come after its directory, and go before it.
bool IsDevice(const std::string& path) {
  return path.starts_with("/sys/devices");
}

}  // namespace

void Tree::Add(const std::string& path, Entry entry) {
  const std::string parent = path.substr(0, path.rfind('/'));
  if (!parent.empty() && !entries_.contains(parent)) Add(parent, {});
  entries_.insert_or_assign(path, std::move(entry));
}

void Tree::AddDirectory(const std::string& path) {
  if (!entries_.contains(path)) Add(path, {});
}

void Tree::AddFile(const std::string& path, std::string content) {
  Add(path, {Kind::kFile, std::move(content)});
}

void Tree::AddLink(const std::string& path, const std::string& target) {
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  Add(path, {Kind::kLink, std::filesystem::path(target).lexically_relative(parent)});
}

void Tree::Remove(const std::string& path, const Entry& entry) {
  const bool is_directory = entry.kind == Kind::kDirectory;
  if ((is_directory ? rmdir(path.c_str()) : unlink(path.c_str())) == 0) return;
  // A directory may have files of others.
  if (errno != ENOENT && !(is_directory && errno == ENOTEMPTY)) Fail(path);
}

void Tree::Make(const std::string& path, const Entry& entry, const Entry* before) {
  switch (entry.kind) {
    case Kind::kDirectory:
      if (mkdir(path.c_str(), kDirectoryMode) != 0 && errno != EEXIST) Fail(path);
      return;
    case Kind::kLink:
      return MustBe(os::ReplaceLink(path, entry.content));
    case Kind::kFile:
      if (before == nullptr) return WritePlainly(path, entry.content);
      return MustBe(os::ReplaceFile(path, entry.content, kFileMode));
  }
}

void Tree::Replace(const Tree& before, const std::string& directory) const {
  for (const bool devices : {false, true}) {
    for (const auto& [path, entry] : std::views::reverse(before.entries_)) {
      const auto found = entries_.find(path);
      const bool stays = found != entries_.end() && found->second.kind == entry.kind;
      if (!stays && IsDevice(path) == devices) Remove(directory + path, entry);
    }
  }
  for (const bool devices : {true, false}) {
    if (devices && !entries_.empty()) MustBe(os::MakeDirectories(directory + "/sys"));
    for (const auto& [path, entry] : entries_) {
      if (IsDevice(path) != devices) continue;
      const auto found = before.entries_.find(path);
      const bool was = found != before.entries_.end() && found->second.kind == entry.kind;
      if (was && found->second == entry) continue;
      Make(directory + path, entry, was ? &found->second : nullptr);
    }
  }
}

void ReplaceLine(const std::string& path, const std::string& line) {
  MustBe(os::ReplaceFile(path, line + "\n", kFileMode));
}

}  // namespace tessera::amd
