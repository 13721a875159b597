// SPDX-License-Identifier: Apache-2.0
#include "backend/sysfs.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/text.h"
#include "os/files.h"

namespace tessera::sysfs {
namespace {

// "0x15b3" -> "15b3".
std::string WithoutPrefix(const std::string& text) {
  return text.starts_with("0x") ? text.substr(2) : "";
}

}  // namespace

std::string Text(const std::string& path) {
  constexpr size_t kLongest = 65'536;  // a file of sysfs has a page
  const auto text = os::ReadFile(path, kLongest);
  return text ? std::string(Trim(*text)) : "";
}

std::string HexText(const std::string& path) {
  return WithoutPrefix(Text(path));
}

std::vector<std::string> Names(const std::string& directory) {
  auto names = os::ListDirectory(directory);
  return names ? *std::move(names) : std::vector<std::string>();
}

Directory::Directory(const std::string& path)
    : fd_(open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)),
      missing_(!fd_.valid() && (errno == ENOENT || errno == ENOTDIR)) {}

bool Directory::Has(const std::string& name) const {
  return fd_.valid() && faccessat(fd_.get(), name.c_str(), F_OK, 0) == 0;
}

std::string Directory::Head(const std::string& name, size_t most) const {
  if (!fd_.valid()) return "";
  const os::Fd file(openat(fd_.get(), name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.valid()) return "";
  char page[4096];  // a file of sysfs has one at most
  const ssize_t size = read(file.get(), page, std::min(most, sizeof page));
  return size <= 0 ? "" : std::string(page, static_cast<size_t>(size));
}

std::string Directory::Text(const std::string& name) const {
  return std::string(Trim(Head(name, SIZE_MAX)));
}

std::string Directory::HexText(const std::string& name) const {
  return WithoutPrefix(Text(name));
}

std::string Directory::Link(const std::string& name) const {
  char target[4096];
  if (!fd_.valid()) return "";
  const ssize_t size = readlinkat(fd_.get(), name.c_str(), target, sizeof target);
  return size <= 0 ? "" : std::string(target, static_cast<size_t>(size));
}

std::string Directory::LinkName(const std::string& name) const {
  return std::string(FileName(Link(name)));
}

std::vector<std::string> Directory::Names(const std::string& name) const {
  std::vector<std::string> names;
  if (!fd_.valid()) return names;
  os::Fd listed(openat(fd_.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  DIR* directory = listed.valid() ? fdopendir(listed.get()) : nullptr;
  if (directory == nullptr) return names;
  (void)listed.Release();                             // closedir closes it
  while (const dirent* entry = readdir(directory)) {  // NOLINT(concurrency-mt-unsafe): own stream
    const std::string_view text = entry->d_name;
    if (text != "." && text != "..") names.emplace_back(text);
  }
  closedir(directory);
  std::ranges::sort(names);
  return names;
}

}  // namespace tessera::sysfs
