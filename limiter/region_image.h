// SPDX-License-Identifier: Apache-2.0
// The bytes of a new region, for whoever makes one: the agent before the container starts, else the
// container's first process. The file is to appear complete, once, and is never replaced: it is
// written without a name or elsewhere on the same file system, and linked in.
#pragma once

#include "limiter/contract.h"

namespace tessera::limiter {

struct RegionDevice {
  const char* uuid = "";  // empty: not known yet
  uint64_t bytes = 0;     // 0: no limit
  uint64_t cores = 0;     // percent; 0: no limit
};

struct RegionImage {
  const RegionDevice* devices = nullptr;
  int count = 0;
  CorePolicy core_policy = CorePolicy::kDefault;
  int32_t priority = kDefaultPriority;
  bool oversubscribe = false;
};

// A digest that is never 0, by which the books know a device (FNV-1a).
inline uint64_t DeviceKey(const char* uuid) {
  uint64_t key = 0xcbf29ce484222325;
  for (; *uuid != '\0'; ++uuid) key = (key ^ static_cast<uint8_t>(*uuid)) * 0x100000001b3;
  return key == 0 ? 1 : key;
}

// Makes a region of kRegionSize zero bytes; the magic word comes last.
inline void MakeRegion(const RegionImage& image, Region* region) {
  HamiRegion& hami = region->hami;
  Books& books = region->books;
  hami.major = kHamiMajor;
  hami.minor = kHamiMinor;
  for (int i = 0; i < image.count && i < kMaxDevices; ++i) {
    const RegionDevice& device = image.devices[i];
    for (int at = 0; at < kUuidSize - 1 && device.uuid[at] != '\0'; ++at) {
      hami.uuids[i][at] = device.uuid[at];
    }
    if (device.uuid[0] != '\0') {
      books.devices[i].key = DeviceKey(hami.uuids[i]);
      hami.device_num = static_cast<uint64_t>(i) + 1;
    }
    hami.limit[i] = device.bytes;
    hami.sm_limit[i] = device.cores == 0 || device.cores > 100 ? 100 : device.cores;
  }
  hami.utilization_switch = 1;
  hami.recent_kernel = 2;
  hami.priority = image.priority;
  books.version = kBooksVersion;
  books.size = sizeof(Books);
  books.core_policy = image.core_policy;
  books.oversubscribe = image.oversubscribe ? 1 : 0;
  books.magic = kBooksMagic;
  // The semaphores of HAMi-core are free.
  hami.slot_semaphore[0] = 1;
  hami.init_semaphore[0] = 1;
  __atomic_store_n(&hami.magic, kHamiMagic, __ATOMIC_RELEASE);
}

}  // namespace tessera::limiter
