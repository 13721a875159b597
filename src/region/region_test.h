// SPDX-License-Identifier: Apache-2.0
// A region's bytes as the agent and the library make them; tests corrupt single words. Header-only,
// for tests.
#pragma once

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "limiter/contract.h"

namespace tessera::region {

inline constexpr char kGpu[] = "GPU-8a1f1d3c-5f0e-4a1b-9c55-0d2f6b1e7a42";
inline constexpr char kOther[] = "GPU-8a1f1d3c-5f0e-4a1b-9c55-0d2f6b1e7a43";
inline constexpr uint64_t kMib = uint64_t{1} << 20;

class TestRegion {
 public:
  explicit TestRegion(const std::vector<limiter::RegionDevice>& devices) {
    limiter::MakeRegion({.devices = devices.data(),
                         .count = static_cast<int>(devices.size()),
                         .core_policy = limiter::CorePolicy::kForce},
                        region_.get());
  }
  limiter::Region* operator->() { return region_.get(); }

  // Gives a process a slot that holds `bytes` of a device, of these `context` for its context.
  void Hold(int slot, uint32_t pid, int device, uint64_t bytes, uint64_t context) {
    limiter::SlotAccounting& accounting = region_->accounting.slots[slot];
    accounting.owner = pid | uint64_t{12345} << 32;
    accounting.share[device] = bytes / limiter::kUnit | uint64_t{7} << 36;
    region_->accounting.devices[device].total.low += bytes / limiter::kUnit;
    const auto used = static_cast<uint32_t>(slot + 1);
    if (region_->accounting.slots_used < used) region_->accounting.slots_used = used;
    limiter::HamiSlot& shown = region_->hami.slots[slot];
    shown.pid = static_cast<int32_t>(pid);
    shown.status = limiter::kHamiSlotRuns;
    shown.used[device] = {.context = context,
                          .module = 0,
                          .data = bytes - context,
                          .offset = 0,
                          .total = bytes,
                          .spare = {}};
    if (region_->hami.proc_num <= slot) region_->hami.proc_num = slot + 1;
  }
  // Sets the time charged to the container on the device.
  void Charge(int device, uint64_t ns) { region_->accounting.times[device].used = ns; }

  std::string Bytes(size_t size = limiter::kRegionSize) const {
    return {reinterpret_cast<const char*>(region_.get()), size};
  }
  // HAMi-core's region ends here, after one unused byte.
  std::string HamiBytes() const { return Bytes(limiter::kHamiFileSize); }

 private:
  struct Free {
    void operator()(limiter::Region* region) const { free(region); }
  };
  std::unique_ptr<limiter::Region, Free> region_{
      static_cast<limiter::Region*>(calloc(1, sizeof(limiter::Region)))};
};

}  // namespace tessera::region
