// SPDX-License-Identifier: Apache-2.0
#include "limiter/accounting/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "limiter/contract.h"
#include "limiter/limits/text.h"
#include "limiter/log/blocked_signals.h"

namespace tessera::limiter {
namespace {

constexpr int kOpenFlags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;

// Every process of the container may open it, as any user. The umask is the program's and stays as
// it is.
constexpr mode_t kMode = 0666;

void DirectoryOf(const char* path, char* directory, size_t size) {
  Copy(Text(path), directory, size);
  char* const slash = strrchr(directory, '/');
  if (slash == nullptr) {
    Copy(Text("."), directory, size);
  } else {
    slash[slash == directory ? 1 : 0] = '\0';
  }
}

// Makes a file without a name. Where the file system cannot do that, it gets a temporary name,
// which the caller removes.
int OpenNew(const char* directory, char* name, size_t size) {
  name[0] = '\0';
  const int nameless = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, kMode);
  if (nameless >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)) return nameless;
  snprintf(name, size, "%s/.region-%ld", directory, syscall(SYS_gettid));
  unlink(name);  // of a process that was killed here
  return open(name, kOpenFlags | O_EXCL | O_CREAT, kMode);
}

// By system call: libc has a function of this name only since 2.33.
bool IsRegular(int file, struct stat* status) {
  return syscall(SYS_fstat, file, status) == 0 && S_ISREG(status->st_mode);
}

FileIdentity IdentityOf(const struct stat& status) {
  return {status.st_dev, status.st_ino};
}

bool IsFull(int error) {
  return error == ENOSPC || error == EDQUOT || error == ENOMEM;
}

// Allocates the whole file before it is mapped: without room, a write to the mapping would raise
// SIGBUS. Other containers on the same file system may fill it at any time, but allocated blocks
// stay the region's. Signals are blocked so that none interrupts the call.
bool Allocate(int file, int mode) {
  const BlockedSignals all(~uint64_t{0});
  return fallocate(file, mode, 0, kRegionSize) == 0 ||
         !IsFull(errno);  // or the file system cannot allocate ahead
}

// The agent makes sparse regions, so that the container pays for the blocks.
bool HasRoom(int file, const struct stat& status) {
  const bool whole = static_cast<uint64_t>(status.st_blocks) * 512 >= kRegionSize;
  return whole || Allocate(file, FALLOC_FL_KEEP_SIZE);
}

bool Fill(int file, const Limits& limits) {
  if (fchmod(file, kMode) != 0 || !Allocate(file, 0)) return false;
  if (ftruncate(file, kRegionSize) != 0) return false;  // where it cannot be allocated
  Region* const region = MapRegion(file);
  if (region == nullptr) return false;
  MakeRegionOf(limits, region);
  munmap(region, kRegionSize);
  return true;
}

// A write beyond this limit raises SIGXFSZ, which ends the program.
bool MayWriteThatMuch() {
  rlimit most;
  return getrlimit(RLIMIT_FSIZE, &most) != 0 || most.rlim_cur >= kRegionSize;
}

// kNone: the region exists. Processes race to make it: linkat() lets exactly one succeed, and
// EEXIST is as good.
Trouble Make(const char* path, const Limits& limits) {
  char directory[sizeof(Limits::region)];
  char name[sizeof(directory) + 32];
  if (!MayWriteThatMuch()) return Trouble::kNoRoom;
  DirectoryOf(path, directory, sizeof(directory));
  const int file = OpenNew(directory, name, sizeof(name));
  if (file < 0) return errno == ENOSPC || errno == EDQUOT ? Trouble::kFullDisk : WhyNotOpened();
  bool made = Fill(file, limits);
  if (made) {
    char self[32];
    snprintf(self, sizeof(self), "/proc/self/fd/%d", file);
    const bool named = name[0] != '\0';  // do not follow a link: others can write here
    made =
        linkat(AT_FDCWD, named ? name : self, AT_FDCWD, path, named ? 0 : AT_SYMLINK_FOLLOW) == 0 ||
        errno == EEXIST;
  }
  const bool full = !made && IsFull(errno);
  if (name[0] != '\0') unlink(name);
  close(file);
  if (made) return Trouble::kNone;
  return full ? Trouble::kFullDisk : Trouble::kUnreachable;
}

template <typename T>
bool ReadWord(int file, size_t offset, T* word) {
  return pread(file, word, sizeof(*word), static_cast<off_t>(offset)) == sizeof(*word);
}

Trouble Judge(int file, uint64_t size) {
  int32_t magic = 0;
  if (size >= sizeof(magic) && (!ReadWord(file, 0, &magic) || magic != kHamiMagic)) {
    return Trouble::kForeign;
  }
  if (size == kHamiFileSize || size == sizeof(HamiRegion)) return Trouble::kOlder;
  if (size < kRegionSize) return Trouble::kTruncated;
  int32_t major = 0;
  uint64_t accounting = 0;
  uint32_t version = 0;
  if (!ReadWord(file, offsetof(HamiRegion, major), &major) ||
      !ReadWord(file, kAccountingOffset, &accounting) ||
      !ReadWord(file, kAccountingOffset + offsetof(Accounting, version), &version) ||
      accounting != kAccountingMagic) {
    return Trouble::kForeign;
  }
  return major == kHamiMajor && version == kAccountingVersion ? Trouble::kNone
                                                              : Trouble::kOtherVersion;
}

}  // namespace

void MakeRegionOf(const Limits& limits, Region* region) {
  RegionDevice devices[kMaxDevices];
  for (int i = 0; i < limits.count; ++i) {
    const DeviceLimit& device = limits.devices[i];
    devices[i] = {device.uuid, device.bytes, device.cores};
  }
  MakeRegion({.devices = devices,
              .count = limits.count,
              .core_policy = limits.core_policy,
              .priority = limits.priority,
              .oversubscribe = limits.oversubscribe},
             region);
}

int OpenRegion(const Limits& limits, FileIdentity* identity, Trouble* trouble) {
  const char* const path = limits.region;
  const auto failed = [trouble](Trouble why) {
    *trouble = why;
    return -1;
  };
  if (path[0] == '\0') return failed(Trouble::kNoPath);
  if (getauxval(AT_SECURE) != 0) return failed(Trouble::kSecure);
  int file = open(path, kOpenFlags);
  if (file < 0 && errno == ENOENT) {
    const bool knows = limits.source == Source::kFile || limits.source == Source::kEnvironment;
    if (!knows) return failed(Trouble::kNoLimits);
    const Trouble made = Make(path, limits);
    if (made != Trouble::kNone) return failed(made);
    file = open(path, kOpenFlags);
  }
  if (file < 0) {
    if (errno == ELOOP || errno == EISDIR || errno == ENXIO) return failed(Trouble::kForeign);
    const bool denied = errno == EACCES || errno == EROFS || errno == EPERM;
    return failed(denied && access(path, R_OK) == 0 ? Trouble::kReadOnly : WhyNotOpened());
  }
  struct stat status;
  Trouble found = Trouble::kForeign;
  if (IsRegular(file, &status)) {
    *identity = IdentityOf(status);
    found = Judge(file, static_cast<uint64_t>(status.st_size));
  }
  if (found == Trouble::kNone && !HasRoom(file, status)) found = Trouble::kFullDisk;
  if (found == Trouble::kNone) return file;
  close(file);
  return failed(found);
}

Trouble WhyNotOpened() {
  const bool has_no_room = errno == EMFILE || errno == ENFILE || errno == ENOMEM;
  return has_no_room ? Trouble::kNoRoom : Trouble::kUnreachable;
}

int OpenAgain(const char* path, const FileIdentity& identity) {
  const int file = open(path, kOpenFlags);
  struct stat status;
  if (file < 0 || (IsRegular(file, &status) && IdentityOf(status) == identity)) return file;
  close(file);
  errno = ESTALE;
  return -1;
}

Region* MapRegion(int file) {
  void* const memory = mmap(nullptr, kRegionSize, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) return nullptr;
  madvise(memory, kRegionSize, MADV_RANDOM);  // else the first page brings 2 MB of zeros along
  return static_cast<Region*>(memory);
}

bool Denies(Trouble trouble, bool closed) {
  if (closed) return true;
  // Denied: the container can cause each of these itself, and the process would get the full limit
  // once more. It may place or truncate files, start 1,024 processes, lower its own limits, or fill
  // the file system.
  return trouble == Trouble::kForeign || trouble == Trouble::kTruncated ||
         trouble == Trouble::kFull || trouble == Trouble::kNoRoom || trouble == Trouble::kFullDisk;
}

const char* Meaning(Trouble trouble) {
  switch (trouble) {
    case Trouble::kNone:
      return "the container's accounting is shared";
    case Trouble::kNoPath:
      return "nothing names a region; set CUDA_DEVICE_MEMORY_SHARED_CACHE";
    case Trouble::kNoLimits:
      return "there is no region, and no limits file or variables to make one";
    case Trouble::kSecure:
      return "a program with another user's rights opens no region";
    case Trouble::kUnreachable:
      return "the region can be neither opened nor made; see its directory";
    case Trouble::kReadOnly:
      return "the region is read-only; make it writable";
    case Trouble::kForeign:
      return "the file is not a region; remove it";
    case Trouble::kTruncated:
      return "the region is truncated; remove that file";
    case Trouble::kOlder:
      return "the region is from HAMi-core; remove that file";
    case Trouble::kOtherVersion:
      return "the region has another version; recreate the pod";
    case Trouble::kFull:
      return "1024 processes use the region, the limit; end one of them";
    case Trouble::kNoRoom:
      return "the process may not open, write or map a file of 3.2 MB; raise its limits and start "
             "it again";
    case Trouble::kFullDisk:
      return "the region's file system is full; make room on the node and start the program again";
  }
  return "";
}

}  // namespace tessera::limiter
