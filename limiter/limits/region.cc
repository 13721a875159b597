// SPDX-License-Identifier: Apache-2.0
#include "limiter/limits/region.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace tessera::limiter {
namespace {

bool ReadAt(int file, size_t offset, void* out, size_t size) {
  return pread(file, out, size, static_cast<off_t>(offset)) == static_cast<ssize_t>(size);
}

// The words before and after the slots, and the begin of our own part.
struct Words {
  alignas(8) char head[offsetof(HamiRegion, slots)];
  int32_t priority;
  struct {
    uint64_t magic;
    uint32_t version;
    uint32_t size;
    CorePolicy core_policy;
    uint32_t oversubscribe;
  } accounting;

  template <typename T>
  T At(size_t offset) const {
    T value;
    std::memcpy(&value, head + offset, sizeof(value));
    return value;
  }
};

bool ReadWords(const char* path, Words* words) {
  const int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
  if (file < 0) return false;
  const bool whole =
      ReadAt(file, 0, words->head, sizeof(words->head)) &&
      ReadAt(file, offsetof(HamiRegion, priority), &words->priority, sizeof(words->priority)) &&
      ReadAt(file, kAccountingOffset, &words->accounting, sizeof(words->accounting));
  close(file);
  return whole && words->At<int32_t>(offsetof(HamiRegion, magic)) == kHamiMagic &&
         words->At<int32_t>(offsetof(HamiRegion, major)) == kHamiMajor &&
         words->accounting.magic == kAccountingMagic &&
         words->accounting.version == kAccountingVersion;
}

bool IsRegionName(Text name) {
  constexpr char kEnding[] = ".cache";
  constexpr size_t kSize = sizeof(kEnding) - 1;
  return name.size > kSize && name.From(name.size - kSize) == kEnding;
}

// The number of regions in a directory, and the name of one; 2: two or more. By the kernel's own
// call: libc's would allocate, perhaps inside the program's allocator.
int RegionsIn(int directory, char* name, size_t size) {
  alignas(dirent64) char entries[2048];
  int count = 0;
  for (;;) {
    const long got = syscall(SYS_getdents64, directory, entries, sizeof(entries));
    if (got <= 0) return count;
    for (long at = 0; at < got;) {
      const auto* const entry = reinterpret_cast<const dirent64*>(entries + at);
      at += entry->d_reclen;
      if (!IsRegionName(Text(entry->d_name))) continue;
      if (++count > 1) return count;
      Copy(Text(entry->d_name), name, size);
    }
  }
}

}  // namespace

bool FindRegion(const char* directory, Limits* limits) {
  const Text path(directory);
  const int file = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file < 0) return false;
  char name[256];  // the longest that there are
  const int count = RegionsIn(file, name, sizeof(name));
  close(file);
  if (count > 1 && limits->warning[0] == '\0') {
    Explain(limits->warning, sizeof(limits->warning), directory,
            "several regions (*.cache); none is used", {});
  }
  if (count != 1 || path.size + std::strlen(name) >= sizeof(limits->region)) return false;
  Copy(path, limits->region, sizeof(limits->region));
  Copy(Text(name), limits->region + path.size, sizeof(limits->region) - path.size);
  return true;
}

bool ReadLimitsOfRegion(const char* path, const Environment& environment, Limits* limits) {
  Words words;
  if (path[0] == '\0' || !ReadWords(path, &words)) return false;
  limits->source = Source::kRegion;
  limits->count = 0;
  for (int i = 0; i < kMaxDevices; ++i) {
    DeviceLimit& device = limits->devices[i];
    const size_t at = static_cast<size_t>(i);
    const char* const uuid = words.head + offsetof(HamiRegion, uuids) + at * kUuidSize;
    Copy(Text(uuid, Text(uuid, kUuidSize).Find('\0')), device.uuid, kUuidSize);
    device.bytes = words.At<uint64_t>(offsetof(HamiRegion, limit) + at * 8);
    const auto cores = words.At<uint64_t>(offsetof(HamiRegion, sm_limit) + at * 8);
    device.cores = cores >= 100 ? 0 : static_cast<uint32_t>(cores);
    if (device.uuid[0] != '\0' || device.bytes != 0 || device.cores != 0) limits->count = i + 1;
  }
  if (!environment.has_policy && words.accounting.core_policy <= CorePolicy::kDisable) {
    limits->core_policy = words.accounting.core_policy;
  }
  if (!environment.has_priority) limits->priority = words.priority;
  limits->oversubscribe = limits->oversubscribe || words.accounting.oversubscribe != 0;
  return true;
}

}  // namespace tessera::limiter
