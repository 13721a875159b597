// SPDX-License-Identifier: Apache-2.0
// The limits that a process without variables reads from its container's region, which another
// process wrote. An input is the file's length (4 bytes), then pairs of a place (4 bytes) and a
// value (8 bytes). The values are written into a valid region.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>

#include "limiter/limits/region.h"
#include "test/fuzz/fuzz.h"

namespace tessera::limiter {
namespace {

using fuzz::Require;

// This process's region file. Only the parts that are read are written; the rest is a hole.
class File {
 public:
  File() : path_("/dev/shm/tessera-fuzz-" + std::to_string(getpid())) {
    file_ = open(path_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    Require(file_ >= 0, "/dev/shm may be written");
    const RegionDevice devices[] = {{"GPU-aa", 1 << 30, 30}, {"GPU-bb", 0, 0}};
    MakeRegion({.devices = devices, .count = 2}, &good_);
  }
  ~File() { unlink(path_.c_str()); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  const char* path() const { return path_.c_str(); }

  void Write(uint32_t length, const uint8_t* data, size_t size) {
    Require(ftruncate(file_, 0) == 0 && ftruncate(file_, kRegionSize) == 0, "it may be cut");
    Put(0, offsetof(HamiRegion, slots));
    Put(offsetof(HamiRegion, proc_num), kAccountingOffset + 64 - offsetof(HamiRegion, proc_num));
    for (; size >= 12; data += 12, size -= 12) {
      uint32_t place = 0;
      std::memcpy(&place, data, sizeof place);
      Require(pwrite(file_, data + 4, 8, PlaceOf(place)) == 8, "a word is written");
    }
    if (length % 4 == 1) Require(ftruncate(file_, length % kRegionSize) == 0, "it may be cut");
  }

 private:
  // The file offset of a place. The slots between head and tail are left out: no limit is in them.
  static off_t PlaceOf(uint32_t word) {
    constexpr size_t kHead = offsetof(HamiRegion, slots) / 8;
    constexpr size_t kTail = (kAccountingOffset + 64 - offsetof(HamiRegion, proc_num)) / 8;
    const size_t at = word % (kHead + kTail);
    const size_t place = at < kHead ? at * 8 : offsetof(HamiRegion, proc_num) + (at - kHead) * 8;
    return static_cast<off_t>(place);
  }
  void Put(size_t at, size_t size) {
    const auto* bytes = reinterpret_cast<const char*>(&good_) + at;
    Require(pwrite(file_, bytes, size, static_cast<off_t>(at)) == static_cast<ssize_t>(size),
            "it may be written");
  }

  const std::string path_;
  int file_ = -1;
  Region good_{};
};

void Check(const Limits& limits) {
  Require(limits.source == Source::kRegion, "where they are from is known");
  Require(limits.count >= 0 && limits.count <= kMaxDevices, "devices have their bound");
  Require(limits.core_policy <= CorePolicy::kDisable, "the policy is one of three");
  for (const DeviceLimit& device : limits.devices) {
    Require(device.cores < 100, "a share is a percentage");
    Require(strnlen(device.uuid, kUuidSize) < kUuidSize, "names have an end");
  }
}

}  // namespace
}  // namespace tessera::limiter

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tessera::limiter;  // NOLINT(google-build-using-namespace)
  static File file;
  if (size < 4) return 0;
  uint32_t length = 0;
  std::memcpy(&length, data, sizeof length);
  file.Write(length, data + 4, size - 4);
  Limits limits;
  if (ReadLimitsOfRegion(file.path(), {}, &limits)) {
    Check(limits);
  } else {
    tessera::fuzz::Require(limits.source == Source::kNone, "what is none says nothing");
  }
  return 0;
}
