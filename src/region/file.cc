// SPDX-License-Identifier: Apache-2.0
#include "region/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

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
constexpr size_t kMostShown = 96;  // bytes of a name

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

Result<std::string> ReadPart(const os::Fd& fd, size_t offset, size_t size) {
  std::string bytes(size, '\0');
  size_t have = 0;
  while (have < size) {
    const ssize_t got =
        pread(fd.get(), bytes.data() + have, size - have, static_cast<off_t>(offset + have));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Fail(SystemError("it cannot be read", errno));
    if (got == 0) break;
    have += static_cast<size_t>(got);
  }
  bytes.resize(have);
  return bytes;
}

}  // namespace

std::string PrintableName(std::string_view name) {
  std::string text(name);
  for (char& c : text) {
    if (!IsAlphanumeric(c) && c != '-' && c != '.' && c != '_') c = '?';
  }
  return text;
}

Result<File> File::OpenIn(const std::string& directory, const std::string& wanted, Access access) {
  const size_t slash = directory.rfind('/');
  return Open(directory.substr(0, slash), directory.substr(slash + 1), wanted, access);
}

Result<File> File::Open(const std::string& containers, const std::string& name,
                        const std::string& wanted, Access access) {
  const os::Fd top(open(containers.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!top.valid()) return Fail(SystemError("cannot open the directory " + containers, errno));
  const std::string path = containers + "/" + name;
  const os::Fd directory = TRY(os::OpenDirectoryIn(top, name, "the directory " + path));
  const auto open = [&](const std::string& file) {
    return os::OpenFileIn(directory, file, access == Access::kWrite ? O_RDWR : O_RDONLY, "it");
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
  return File(*std::move(fd), PrintableName(std::string_view(file).substr(0, kMostShown)));
}

Result<Region> File::Read() const {
  struct stat info{};
  if (fstat(fd_.get(), &info) != 0) return Fail(SystemError("it cannot be read", errno));
  return Parse(static_cast<size_t>(info.st_size),
               [&](size_t offset, size_t size) { return ReadPart(fd_, offset, size); });
}

Status File::Write(const MonitorWords& words) const {
  const int32_t both[] = {words.limited, words.recent};
  const ssize_t written =
      pwrite(fd_.get(), both, sizeof both, static_cast<off_t>(MonitorWordsAt()));
  if (written != sizeof both) return Fail(SystemError("it cannot be written", errno));
  return {};
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
