// SPDX-License-Identifier: Apache-2.0
// What the processes of a container say of themselves in the file that they share, the region
// (limiter/contract.h, which also begins HAMi-core's). The container writes it: no word is trusted,
// each that cannot be is left out and counted, and what is left is text that a terminal may be
// shown. Pure; plain data; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tessera::region {

// Whose library made it.
enum class Maker : uint8_t { kTessera, kHamiCore };
std::string_view MakerName(Maker maker);

// Bytes of one process on one device.
struct ProcessUsage {
  size_t device = 0;  // its place in Region::devices
  uint64_t context = 0;
  uint64_t module = 0;
  uint64_t data = 0;
  uint64_t total = 0;
  // Of data, what the device had no room for; HAMi-core does not say.
  std::optional<uint64_t> managed{};
  bool operator==(const ProcessUsage&) const = default;
};

// A process that has, or had, a slot.
struct Process {
  int slot = 0;
  uint32_t pid = 0;    // as the container sees it
  bool ended = false;  // it said that it was about to end
  std::vector<ProcessUsage> held{};
  bool operator==(const Process&) const = default;
};

struct Device {
  std::string uuid;
  uint64_t limit = 0;                 // bytes; 0: none
  int percent = 0;                    // of its time; 0: no limit
  uint64_t used = 0;                  // bytes, of all processes
  std::optional<uint64_t> busy_ns{};  // what the container was charged so far, where it is counted
  // Where its time is not limited: percent that its processes say they had lately, and when one of
  // them launched something on any device, in seconds since 1970.
  std::optional<uint64_t> lately{};
  int64_t launched_at = 0;
  bool operator==(const Device&) const = default;
};

struct Region {
  Maker maker = Maker::kTessera;
  std::string policy{};     // "default", "force", "disable"; empty: it does not say
  bool switched_on = true;  // HAMi's monitor lets compute time be limited
  bool blocked = false;     // or has stopped it for somebody of a higher priority
  int priority = 0;
  std::vector<Device> devices{};
  std::vector<Process> processes{};
  size_t odd = 0;  // numbers that cannot be, which count as none here
  bool operator==(const Region&) const = default;
};

// No more of a file than this is of use.
size_t LargestRegion();

// kBadRegion with the reason, where it is none that is known here.
Result<Region> Parse(std::string_view bytes);

// Percent of a device's time that was charged between two readings so many ns apart, or of what is
// not charged, that was had lately; nothing where that is not known or cannot be.
std::optional<double> ShareGot(const Device& before, const Device& after, uint64_t elapsed_ns);

// The byte of the file that is locked as long as the process of that slot lives.
int64_t LockOf(int slot);

}  // namespace tessera::region
