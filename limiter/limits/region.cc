// SPDX-License-Identifier: Apache-2.0
#include "limiter/limits/region.h"

#include <fcntl.h>
#include <unistd.h>

namespace tessera::limiter {
namespace {

bool ReadAt(int file, size_t offset, void* out, size_t size) {
  return pread(file, out, size, static_cast<off_t>(offset)) == static_cast<ssize_t>(size);
}

// The words before the slots, those behind them, and the beginning of our own part.
struct Words {
  alignas(8) char head[offsetof(HamiRegion, slots)];
  int32_t priority;
  struct {
    uint64_t magic;
    uint32_t version;
    uint32_t size;
    CorePolicy core_policy;
    uint32_t oversubscribe;
  } books;

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
      ReadAt(file, kBooksOffset, &words->books, sizeof(words->books));
  close(file);
  return whole && words->At<int32_t>(offsetof(HamiRegion, magic)) == kHamiMagic &&
         words->At<int32_t>(offsetof(HamiRegion, major)) == kHamiMajor &&
         words->books.magic == kBooksMagic && words->books.version == kBooksVersion;
}

}  // namespace

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
  if (!environment.has_policy && words.books.core_policy <= CorePolicy::kDisable) {
    limits->core_policy = words.books.core_policy;
  }
  if (!environment.has_priority) limits->priority = words.priority;
  limits->oversubscribe = limits->oversubscribe || words.books.oversubscribe != 0;
  return true;
}

}  // namespace tessera::limiter
