// SPDX-License-Identifier: Apache-2.0
#include "region/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <cerrno>
#include <memory>
#include <string_view>

#include "base/characters.h"

#ifndef F_OFD_GETLK
#define F_OFD_GETLK 36
#endif

namespace tessera::region {
namespace {

constexpr std::string_view kSuffix = ".cache";
// HAMi's monitor takes no more than two; whoever makes many wants to be a nuisance.
constexpr int kMostNames = 256;

// What `name` is in the directory, and nothing that it leads to. -1: see errno.
os::Fd OpenBeneath(int directory, const std::string& name, int flags) {
  open_how how{};
  how.flags =
      static_cast<uint64_t>(flags | O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS;
  const auto fd = syscall(SYS_openat2, directory, name.c_str(), &how, sizeof how);
  if (fd >= 0 || errno != ENOSYS) return os::Fd(static_cast<int>(fd));
  // Before Linux 5.6: it is one name, and no link is followed.
  return os::Fd(openat(directory, name.c_str(), static_cast<int>(how.flags)));
}

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

// The first name by order of what may be a region; empty: there is none.
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
  const os::Fd directory = OpenBeneath(top.get(), name, O_DIRECTORY);
  if (!directory.valid()) return Fail(SystemError("cannot open the directory " + path, errno));
  std::string file = wanted;
  os::Fd fd;
  if (!wanted.empty()) fd = OpenBeneath(directory.get(), wanted, 0);
  if (!fd.valid() && (wanted.empty() || errno == ENOENT)) {
    file = FirstName(directory.get());
    if (file.empty()) {
      return Fail(Reason::kNotFound, "there is no region in {}", path);
    }
    fd = OpenBeneath(directory.get(), file, 0);
  }
  if (!fd.valid() && errno == ELOOP) {
    return Fail(Reason::kBadRegion, "it is a symbolic link, which is not followed");
  }
  if (!fd.valid()) return Fail(SystemError("it does not open", errno));
  struct stat status{};
  if (fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return Fail(Reason::kBadRegion, "it is no file");
  }
  return File(std::move(fd), Shown(file));
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
  lock.l_type = F_RDLCK;  // which the owner's, for writing, is in the way of
  lock.l_whence = SEEK_SET;
  lock.l_start = LockOf(slot);
  lock.l_len = 1;
  if (fcntl(fd_.get(), F_OFD_GETLK, &lock) != 0) return std::nullopt;
  return lock.l_type != F_UNLCK;
}

}  // namespace tessera::region
