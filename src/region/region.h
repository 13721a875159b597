// SPDX-License-Identifier: Apache-2.0
// Parses a region, the file in which a container's processes account for their use
// (limiter/contract.h; HAMi-core's region has the same beginning). The container writes the file,
// so no word is trusted. Impossible words are left out and counted; text is made safe to print on a
// terminal. Pure; plain data; any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tessera::region {

// The library that made the region.
enum class Maker : uint8_t { kTessera, kHamiCore };
std::string_view MakerName(Maker maker);

// Bytes of one process on one device.
struct ProcessUsage {
  size_t device = 0;  // index into Region::devices
  uint64_t context = 0;
  uint64_t module = 0;
  uint64_t data = 0;
  uint64_t total = 0;
  // The part of `data` that did not fit on the device; nothing: HAMi-core does not report it.
  std::optional<uint64_t> managed{};
  bool operator==(const ProcessUsage&) const = default;
};

// A process with a slot.
struct Process {
  int slot = 0;
  uint32_t pid = 0;    // in the container's PID namespace
  bool ended = false;  // it announced its end
  std::vector<ProcessUsage> held{};
  bool operator==(const Process&) const = default;
};

struct Device {
  std::string uuid;
  uint64_t limit = 0;                 // bytes; 0: none
  int percent = 0;                    // of the device's time; 0: no limit
  uint64_t used = 0;                  // bytes, sum of all processes
  std::optional<uint64_t> busy_ns{};  // time charged so far; nothing: not counted
  // Set if its time is not limited, and always with HAMi-core. `lately`: the recent use that its
  // processes report, in percent.
  // `launched_at`: their last launch on any device, in seconds since 1970.
  std::optional<uint64_t> lately{};
  int64_t launched_at = 0;
  bool operator==(const Device&) const = default;
};

// The two words by which a monitor and launches communicate (limiter/time/monitor.h).
struct MonitorWords {
  int32_t recent = 0;   // 2 after a launch; a monitor counts it down; below 0: launches wait
  int32_t limited = 1;  // 0: the container may use more than its share of time
  bool operator==(const MonitorWords&) const = default;
};

struct Region {
  Maker maker = Maker::kTessera;
  std::string policy{};  // "default", "force", "disable"; empty: not reported
  MonitorWords words{};
  int priority = 0;
  int64_t launched_at = 0;  // the last launch on any device, in seconds since 1970; 0: never
  // Sums since the container began; 0 with HAMi-core, which counts neither. `waited_ns`: the time
  // that launches waited for their share or for the monitor.
  uint64_t refused = 0;
  uint64_t waited_ns = 0;
  std::vector<Device> devices{};
  std::vector<Process> processes{};
  size_t odd = 0;  // count of impossible numbers; they are read as 0

  // A monitor has stopped the container for one of higher priority.
  bool IsBlocked() const { return words.recent < 0; }
  // A monitor lets it use more than its share of time.
  bool IsFree() const { return words.limited == 0 && policy != "force"; }
  bool operator==(const Region&) const = default;
};

// Reads `size` bytes of the file at `offset`, fewer if the file ends there.
using ReadAt = std::function<Result<std::string>(size_t offset, size_t size)>;

// Parses a file of `size` bytes. It reads only the parts that are in use, some 6 KB for a container
// of one process. kBadRegion if the file is no region of a known version, otherwise an error of
// `read`.
Result<Region> Parse(size_t size, const ReadAt& read);
Result<Region> Parse(std::string_view bytes);

// The used share of a device's time between two readings, in percent: the charged time, or the
// recent use if time is not charged. `elapsed_ns`: time between the readings. Nothing if it is
// unknown or impossible.
std::optional<double> ShareGot(const Device& before, const Device& after, uint64_t elapsed_ns);

// The offset of the words in the file. They are next to each other, `limited` first.
size_t MonitorWordsAt();

// The byte of the file that the slot's process keeps locked while it lives.
int64_t LockOf(int slot);

}  // namespace tessera::region
