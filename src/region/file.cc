// SPDX-License-Identifier: Apache-2.0
#include "region/file.h"

#include <dirent.h>
#include <fcntl.h>

#include <cerrno>
#include <memory>
#include <string_view>

#include "base/characters.h"
#include "os/open.h"

#ifndef F_OFD_GETLK
#define F_OFD_GETLK 36
#endif

namespace tessera::region {
namespace {

constexpr std::string_view kSuffix = ".cache";
// HAMi's monitor accepts at most two names. A container that makes many is hostile, so the search
// stops.
constexpr int kMostNames = 256;

std::string Shown(std::string_view name) {
  std::string text(name.substr(0, 96));
  for (char& c : text) {
    if (!IsAlphanumeric(c) && c != '-' && c != '.' && c != '_') c = '?';
  }
  return text;
}

struct CloseDirectory {
  void operator()(DIR* directory) const { closedir(directory); }
};

// The first name, in order, that may be a region; empty: none.
std::string FirstName(int directory) {
  const int again = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, CloseDirectory> names(again < 0 ? nullptr : fdopendir(again));
  std::string first;
  for (int i = 0; names != nullptr && i < kMostNames; ++i) {
    const dirent* entry = readdir(names.get());  // NOLINT(concurrency-mt-unsafe): one thread has it
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    if (name.ends_with(kSuffix) && (first.empty() || name < first)) first = name;
  }
  return first;
}

}  // namespace

Result<File> File::Open(const std::string& containers, const std::string& name,
                        const std::string& wanted) {
  const os::Fd top(open(containers.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!top.valid()) return Fail(SystemError("cannot open the directory " + containers, errno));
  const std::string path = containers + "/" + name;
  const os::Fd directory = TRY(os::OpenDirectoryIn(top, name, "the directory " + path));
  const auto open = [&](const std::string& file) {
    return os::OpenFileIn(directory, file, O_RDONLY, "it");
  };
  std::string file = wanted;
  Result<os::Fd> fd = Fail(Reason::kNotFound, "");
  if (!wanted.empty()) fd = open(wanted);
  if (!fd && fd.error().reason == Reason::kNotFound) {
    file = FirstName(directory.get());
    if (file.empty()) return Fail(Reason::kNotFound, "there is no region in {}", path);
    fd = open(file);
  }
  if (!fd) {
    const bool other = fd.error().reason == Reason::kIo;
    return Fail(other ? Reason::kBadRegion : fd.error().reason, "{}", fd.error().message);
  }
  return File(*std::move(fd), Shown(file));
}

Result<Region> File::Read() const {
  std::string bytes(LargestRegion(), '\0');
  size_t have = 0;
  while (have < bytes.size()) {
    const ssize_t got =
        pread(fd_.get(), bytes.data() + have, bytes.size() - have, static_cast<off_t>(have));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Fail(SystemError("it does not read", errno));
    if (got == 0) break;
    have += static_cast<size_t>(got);
  }
  return Parse(std::string_view(bytes).substr(0, have));
}

std::optional<bool> File::IsAlive(int slot) const {
  struct flock lock{};
  lock.l_type = F_RDLCK;  // conflicts with the write lock of the slot's owner
  lock.l_whence = SEEK_SET;
  lock.l_start = LockOf(slot);
  lock.l_len = 1;
  if (fcntl(fd_.get(), F_OFD_GETLK, &lock) != 0) return std::nullopt;
  return lock.l_type != F_UNLCK;
}

}  // namespace tessera::region
