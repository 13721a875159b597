// SPDX-License-Identifier: Apache-2.0
#include "region/region.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "base/characters.h"
#include "limiter/contract.h"

namespace tessera::region {
namespace {

using limiter::HamiRegion;
using limiter::HamiSlot;
using limiter::HamiUsed;
using limiter::kMaxBytes;
using limiter::kMaxDevices;

constexpr uint64_t kUnits = kMaxBytes / limiter::kUnit;  // also the mask of an amount
constexpr uint64_t kFree = 100;                          // percent; from here on there is no limit

// The words of the parts of a file that were read. Any other word is zero.
class Words {
 public:
  Words(size_t size, const ReadAt& read) : size_(size), read_(read) {}

  // Adds the bytes from `offset` on. Parts do not overlap.
  Status Add(size_t offset, size_t size) {
    if (size == 0) return {};
    parts_.push_back({offset, TRY(read_(offset, size))});
    return {};
  }
  size_t size() const { return size_; }  // of the file

  template <class T>
  T At(size_t offset) const {
    T value{};
    const std::string_view bytes = From(offset);
    if (bytes.size() >= sizeof value) std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }
  // Unterminated text fills its field.
  std::string Text(size_t offset, size_t size) const {
    const std::string_view place = From(offset).substr(0, size);
    std::string text(place.substr(0, place.find('\0')));
    for (char& c : text) {
      const bool plain = IsAlphanumeric(c) || c == '-' || c == '/' || c == '.' || c == '_';
      if (!plain) c = '?';
    }
    return text;
  }

 private:
  struct Part {
    size_t offset;
    std::string bytes;
  };

  std::string_view From(size_t offset) const {
    for (const Part& part : parts_) {
      if (offset >= part.offset && offset - part.offset < part.bytes.size()) {
        return std::string_view(part.bytes).substr(offset - part.offset);
      }
    }
    return {};
  }

  const size_t size_;
  const ReadAt& read_;
  std::vector<Part> parts_;
};

constexpr size_t SlotAt(size_t slot) {
  return offsetof(HamiRegion, slots) + slot * sizeof(HamiSlot);
}
constexpr size_t AccountingAt(size_t offset) {
  return limiter::kAccountingOffset + offset;
}

constexpr size_t kTail = offsetof(HamiRegion, proc_num);  // HAMi's words behind its slots
constexpr size_t kOwnSlots = AccountingAt(offsetof(limiter::Accounting, slots));
constexpr size_t kTimes = AccountingAt(offsetof(limiter::Accounting, times));

// The time charged to the container, in ns.
std::optional<uint64_t> BusyOf(const Words& words, size_t device) {
  return words.At<uint64_t>(kTimes + device * sizeof(limiter::TimeAccounting) +
                            offsetof(limiter::TimeAccounting, used));
}

// The maker of the region, or why it is no region. Adds the words that are not of a slot.
Result<Maker> Judge(Words& words) {
  TRY(words.Add(0, offsetof(HamiRegion, slots)));
  const size_t size = words.size();
  if (size < sizeof(int32_t) || words.At<int32_t>(0) != limiter::kHamiMagic) {
    return Fail(Reason::kBadRegion, "it is not a region, or was never completed");
  }
  if (size < sizeof(HamiRegion)) {
    return Fail(Reason::kBadRegion, "it is truncated, or from a HAMi-core before 1.2: {} bytes",
                size);
  }
  const auto major = words.At<int32_t>(offsetof(HamiRegion, major));
  if (major != limiter::kHamiMajor) {
    return Fail(Reason::kBadRegion, "it has HAMi-core's version {}, which is unknown", major);
  }
  TRY(words.Add(kTail, kOwnSlots - kTail));
  if (size <= limiter::kHamiFileSize) return Maker::kHamiCore;
  if (size < limiter::kRegionSize) {
    return Fail(Reason::kBadRegion, "it is truncated: {} of {} bytes", size, limiter::kRegionSize);
  }
  if (words.At<uint64_t>(AccountingAt(0)) != limiter::kAccountingMagic) {
    return Fail(Reason::kBadRegion, "its second part is not an accounting");
  }
  const auto version = words.At<uint32_t>(AccountingAt(offsetof(limiter::Accounting, version)));
  const auto length = words.At<uint32_t>(AccountingAt(offsetof(limiter::Accounting, size)));
  if (version != limiter::kAccountingVersion || length != sizeof(limiter::Accounting)) {
    return Fail(Reason::kBadRegion, "its accounting has version {}, this program reads {}", version,
                limiter::kAccountingVersion);
  }
  TRY(words.Add(kTimes, kMaxDevices * sizeof(limiter::TimeAccounting)));
  return Maker::kTessera;
}

// Adds the slots that may be used, and returns their number. A process that is alone uses slot 0
// and raises no slots_used.
Result<size_t> AddSlots(Words& words, Maker maker) {
  constexpr size_t kOwnUsed = AccountingAt(offsetof(limiter::Accounting, slots_used));
  const bool ours = maker == Maker::kTessera;
  const int64_t used = ours ? std::max<int64_t>(1, words.At<uint32_t>(kOwnUsed))
                            : words.At<int32_t>(offsetof(HamiRegion, proc_num));
  const auto slots = static_cast<size_t>(std::clamp<int64_t>(used, 0, limiter::kMaxSlots));
  TRY(words.Add(SlotAt(0), slots * sizeof(HamiSlot)));
  if (ours) TRY(words.Add(kOwnSlots, slots * sizeof(limiter::SlotAccounting)));
  return slots;
}

class Reader {
 public:
  Reader(const Words& words, size_t slots, Maker maker) : words_(words), slots_(slots) {
    region_.maker = maker;
  }

  Region Read() {
    const bool ours = region_.maker == Maker::kTessera;
    ReadDevices();
    if (ours) {
      ReadPolicy();
      ReadOwnProcesses();
    } else {
      ReadHamiProcesses();
      AddUp();
    }
    region_.words = {.recent = words_.At<int32_t>(offsetof(HamiRegion, recent_kernel)),
                     .limited = words_.At<int32_t>(offsetof(HamiRegion, utilization_switch))};
    region_.priority = words_.At<int32_t>(offsetof(HamiRegion, priority));
    region_.launched_at = TimeAt(offsetof(HamiRegion, last_kernel_time));
    if (ours) ReadSums();
    ReadFreeTime();
    return std::move(region_);
  }

 private:
  // A number of bytes; 0 if it is impossible.
  uint64_t Bytes(size_t offset) {
    const auto bytes = words_.At<uint64_t>(offset);
    if (bytes <= kMaxBytes) return bytes;
    ++region_.odd;
    return 0;
  }

  // Seconds since 1970; 0 if it is impossible.
  int64_t TimeAt(size_t offset) {
    constexpr int64_t kLast = int64_t{1} << 40;
    const auto time = words_.At<int64_t>(offset);
    if (time >= 0 && time <= kLast) return time;
    ++region_.odd;
    return 0;
  }

  uint64_t UnitsAt(size_t offset) const {
    return (words_.At<uint64_t>(offset) & kUnits) * limiter::kUnit;
  }

  void ReadDevices() {
    const bool ours = region_.maker == Maker::kTessera;
    const auto count = words_.At<uint64_t>(offsetof(HamiRegion, device_num));
    if (count > kMaxDevices) ++region_.odd;
    for (size_t i = 0; i < kMaxDevices; ++i) {
      const size_t uuid = offsetof(HamiRegion, uuids) + i * limiter::kUuidSize;
      Device device{.uuid = words_.Text(uuid, limiter::kUuidSize)};
      if (ours)
        device.used = UnitsAt(AccountingAt(offsetof(limiter::Accounting, devices)) +
                              i * sizeof(limiter::DeviceAccounting));
      // An entry without a name is no device, even if it has a limit.
      const bool is_device = ours ? !device.uuid.empty() || device.used > 0 : i < count;
      if (!is_device) continue;
      device.limit = Bytes(offsetof(HamiRegion, limit) + i * sizeof(uint64_t));
      const auto percent =
          words_.At<uint64_t>(offsetof(HamiRegion, sm_limit) + i * sizeof(uint64_t));
      device.percent = percent >= kFree ? 0 : static_cast<int>(percent);
      if (ours) device.busy_ns = BusyOf(words_, i);
      places_[i] = static_cast<int>(region_.devices.size());
      region_.devices.push_back(std::move(device));
    }
  }

  void ReadPolicy() {
    constexpr std::string_view kPolicies[] = {"default", "force", "disable"};
    const auto policy =
        words_.At<uint32_t>(AccountingAt(offsetof(limiter::Accounting, core_policy)));
    if (policy < std::size(kPolicies)) {
      region_.policy = kPolicies[policy];
    } else {
      ++region_.odd;
    }
  }

  // The totals are our accounting's. HAMi's slots mirror the parts that contexts and modules take.
  void ReadOwnProcesses() {
    for (size_t slot = 0; slot < slots_; ++slot) {
      const size_t at = kOwnSlots + slot * sizeof(limiter::SlotAccounting);
      const auto owner = words_.At<uint64_t>(at + offsetof(limiter::SlotAccounting, owner));
      if (owner == 0) continue;
      Process process{.slot = static_cast<int>(slot), .pid = static_cast<uint32_t>(owner)};
      process.ended = words_.At<int32_t>(SlotAt(slot) + offsetof(HamiSlot, status)) == 0;
      for (size_t i = 0; i < kMaxDevices; ++i) {
        const uint64_t total = UnitsAt(at + i * sizeof(limiter::ShareWord));
        if (total == 0) continue;
        ProcessUsage held = MirrorOf(slot, i);
        held.total = total;
        held.context = std::min(held.context, total);
        held.module = std::min(held.module, total - held.context);
        held.data = total - held.context - held.module;
        held.managed = std::min(ManagedOf(slot, i), held.data);
        Add(held, i, process);
      }
      region_.processes.push_back(std::move(process));
    }
  }

  void ReadHamiProcesses() {
    const auto count = words_.At<int32_t>(offsetof(HamiRegion, proc_num));
    if (count < 0 || count > limiter::kMaxSlots) ++region_.odd;
    for (size_t slot = 0; slot < slots_; ++slot) {
      const auto pid = words_.At<int32_t>(SlotAt(slot) + offsetof(HamiSlot, pid));
      if (words_.At<int32_t>(SlotAt(slot) + offsetof(HamiSlot, status)) == 0 || pid <= 0) continue;
      Process process{.slot = static_cast<int>(slot), .pid = static_cast<uint32_t>(pid)};
      for (size_t i = 0; i < kMaxDevices; ++i) {
        const ProcessUsage held = MirrorOf(slot, i);
        if (held.total != 0) Add(held, i, process);
      }
      region_.processes.push_back(std::move(process));
    }
  }

  void ReadSums() {
    for (size_t slot = 0; slot < slots_; ++slot) {
      const size_t at = kOwnSlots + slot * sizeof(limiter::SlotAccounting);
      region_.refused += words_.At<uint64_t>(at + offsetof(limiter::SlotAccounting, refused));
      region_.waited_ns += words_.At<uint64_t>(at + offsetof(limiter::SlotAccounting, waited));
    }
  }

  static size_t UsedAt(size_t slot, size_t device) {
    return SlotAt(slot) + offsetof(HamiSlot, used) + device * sizeof(HamiUsed);
  }
  uint64_t ManagedOf(size_t slot, size_t device) {
    return Bytes(UsedAt(slot, device) + offsetof(HamiUsed, managed));
  }

  ProcessUsage MirrorOf(size_t slot, size_t device) {
    const size_t at = UsedAt(slot, device);
    return {.context = Bytes(at + offsetof(HamiUsed, context)),
            .module = Bytes(at + offsetof(HamiUsed, module)),
            .data = Bytes(at + offsetof(HamiUsed, data)),
            .total = Bytes(at + offsetof(HamiUsed, total))};
  }

  // Memory on a device that does not exist is impossible.
  void Add(ProcessUsage held, size_t place, Process& process) {
    if (places_[place] < 0) {
      ++region_.odd;
      return;
    }
    held.device = static_cast<size_t>(places_[place]);
    process.held.push_back(held);
  }

  bool IsTimeLimited(const Device& device) const {
    if (device.percent == 0 || region_.policy == "disable") return false;
    return region_.policy == "force" || region_.words.limited != 0;
  }

  // The use that processes report, if no time is charged.
  void ReadFreeTime() {
    for (size_t i = 0; i < kMaxDevices; ++i) {
      if (places_[i] < 0) continue;
      Device& device = region_.devices[static_cast<size_t>(places_[i])];
      if (region_.maker == Maker::kTessera && IsTimeLimited(device)) continue;
      uint64_t sum = 0;
      for (const Process& process : region_.processes) {
        const auto percent = words_.At<uint64_t>(
            SlotAt(static_cast<size_t>(process.slot)) + offsetof(HamiSlot, utilization) +
            i * sizeof(limiter::HamiUtilization) + offsetof(limiter::HamiUtilization, sm));
        if (percent > kFree) ++region_.odd;
        sum += percent <= kFree ? percent : 0;
      }
      device.lately = std::min(sum, kFree);
      device.launched_at = region_.launched_at;
    }
  }

  // HAMi-core keeps no total.
  void AddUp() {
    for (const Process& process : region_.processes) {
      for (const ProcessUsage& held : process.held) region_.devices[held.device].used += held.total;
    }
  }

  const Words& words_;
  const size_t slots_;
  Region region_;
  int places_[kMaxDevices] = {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};
};

}  // namespace

std::string_view MakerName(Maker maker) {
  return maker == Maker::kTessera ? "tessera" : "hami-core";
}

Result<Region> Parse(size_t size, const ReadAt& read) {
  Words words(size, read);
  const Maker maker = TRY(Judge(words));
  const size_t slots = TRY(AddSlots(words, maker));
  return Reader(words, slots, maker).Read();
}

Result<Region> Parse(std::string_view bytes) {
  return Parse(bytes.size(), [&](size_t offset, size_t size) -> Result<std::string> {
    return std::string(bytes.substr(std::min(offset, bytes.size()), size));
  });
}

std::optional<double> ShareGot(const Device& before, const Device& after, uint64_t elapsed_ns) {
  constexpr double kMost = 200;  // processes may charge too much and correct it later
  if (before.uuid != after.uuid || elapsed_ns == 0) return std::nullopt;
  const bool is_charged = before.busy_ns && after.busy_ns;
  if (!is_charged && !after.lately) return std::nullopt;
  if (is_charged && *after.busy_ns < *before.busy_ns) return std::nullopt;
  if (after.lately && (!is_charged || *after.busy_ns == *before.busy_ns)) {
    // A process that stops launching also stops reporting, so its last report is stale.
    constexpr uint64_t kStill = 1'500'000'000;  // ns
    const bool is_still = elapsed_ns >= kStill && after.launched_at == before.launched_at;
    return is_still ? 0 : static_cast<double>(*after.lately);
  }
  const double got =
      100 * static_cast<double>(*after.busy_ns - *before.busy_ns) / static_cast<double>(elapsed_ns);
  return got <= kMost ? std::optional(got) : std::nullopt;
}

size_t MonitorWordsAt() {
  static_assert(offsetof(HamiRegion, recent_kernel) ==
                offsetof(HamiRegion, utilization_switch) + sizeof(int32_t));
  return offsetof(HamiRegion, utilization_switch);
}

int64_t LockOf(int slot) {
  return limiter::kLocks + slot;
}

}  // namespace tessera::region
