// SPDX-License-Identifier: Apache-2.0
// The contract between the node agent and the library in the container: the region that all
// processes of a container share, and the file with its limits. The layout is plain. Every reader
// must distrust every word, since any process of the container can write the region.
//
// The region begins with HAMi-core's layout, version 1.2, at the same offsets, so that HAMi's
// monitor reads it. Those words are mirrors. The library's own accounting follows and has its own
// version.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tessera::limiter {

inline constexpr int kMaxDevices = 16;
inline constexpr int kMaxSlots = 1024;
inline constexpr int kUuidSize = 96;  // with its end

// HAMi-core's part.

inline constexpr int32_t kHamiMagic = 19920718;
inline constexpr int32_t kHamiMajor = 1;
inline constexpr int32_t kHamiMinor = 2;
inline constexpr int32_t kHamiSlotRuns = 1;

// Bytes of one process on one device.
struct HamiUsed {
  uint64_t context;
  uint64_t module;
  uint64_t data;
  uint64_t offset;
  uint64_t total;
  uint64_t managed;  // ours: the managed part of data, for which the device had no room
  uint64_t spare[2];
};

// Use of one device by one process, in percent.
struct HamiUtilization {
  uint64_t decoder;
  uint64_t encoder;
  uint64_t sm;
  uint64_t sm_at;  // ours: when sm was written, in ns of the monotonic clock
  uint64_t spare[2];
};

struct HamiSlot {
  int32_t pid;
  int32_t host_pid;
  HamiUsed used[kMaxDevices];
  uint64_t monitor_used[kMaxDevices];
  HamiUtilization utilization[kMaxDevices];
  int32_t status;
  uint32_t padding;
  uint64_t seqlock;
  uint64_t spare[2];
};

struct HamiRegion {
  int32_t magic;
  int32_t major;
  int32_t minor;
  int32_t sm_init_flag;
  uint64_t owner_pid;
  uint8_t slot_semaphore[32];
  uint64_t device_num;
  char uuids[kMaxDevices][kUuidSize];
  uint64_t limit[kMaxDevices];     // bytes; 0: none
  uint64_t sm_limit[kMaxDevices];  // percent
  HamiSlot slots[kMaxSlots];
  int32_t proc_num;            // the highest slot ever used, plus one
  int32_t utilization_switch;  // 1: compute time is limited; the monitor writes it
  int32_t recent_kernel;       // 2 at a launch, -1: blocked by the monitor
  int32_t priority;            // 0: high
  int64_t last_kernel_time;    // seconds since 1970
  uint8_t init_semaphore[32];
};

static_assert(sizeof(HamiUsed) == 64 && sizeof(HamiUtilization) == 48);
static_assert(offsetof(HamiUsed, context) == 0 && offsetof(HamiUsed, module) == 8);
static_assert(offsetof(HamiUsed, data) == 16 && offsetof(HamiUsed, offset) == 24);
static_assert(offsetof(HamiUsed, total) == 32 && offsetof(HamiUsed, managed) == 40);
static_assert(offsetof(HamiUtilization, decoder) == 0 && offsetof(HamiUtilization, encoder) == 8);
static_assert(offsetof(HamiUtilization, sm) == 16 && offsetof(HamiUtilization, sm_at) == 24);
static_assert(offsetof(HamiSlot, pid) == 0 && offsetof(HamiSlot, host_pid) == 4);
static_assert(offsetof(HamiSlot, used) == 8 && offsetof(HamiSlot, monitor_used) == 1032);
static_assert(offsetof(HamiSlot, utilization) == 1160 && offsetof(HamiSlot, status) == 1928);
static_assert(offsetof(HamiSlot, seqlock) == 1936 && offsetof(HamiSlot, spare) == 1944);
static_assert(sizeof(HamiSlot) == 1960);
static_assert(offsetof(HamiRegion, magic) == 0 && offsetof(HamiRegion, major) == 4);
static_assert(offsetof(HamiRegion, minor) == 8 && offsetof(HamiRegion, sm_init_flag) == 12);
static_assert(offsetof(HamiRegion, owner_pid) == 16 && offsetof(HamiRegion, slot_semaphore) == 24);
static_assert(offsetof(HamiRegion, device_num) == 56 && offsetof(HamiRegion, uuids) == 64);
static_assert(offsetof(HamiRegion, limit) == 1600 && offsetof(HamiRegion, sm_limit) == 1728);
static_assert(offsetof(HamiRegion, slots) == 1856 && offsetof(HamiRegion, proc_num) == 2008896);
static_assert(offsetof(HamiRegion, utilization_switch) == 2008900);
static_assert(offsetof(HamiRegion, recent_kernel) == 2008904);
static_assert(offsetof(HamiRegion, priority) == 2008908);
static_assert(offsetof(HamiRegion, last_kernel_time) == 2008912);
static_assert(offsetof(HamiRegion, init_semaphore) == 2008920);
static_assert(sizeof(HamiRegion) == 2008952);

// Our part. HAMi's file is one byte longer than its region, so our part starts behind that byte.

inline constexpr uint64_t kAccountingMagic = 0x736b6f6f62'737374;  // "tssbooks"
inline constexpr uint32_t kAccountingVersion = 6;

// Bytes. The unit of the accounting: no driver allocates less.
inline constexpr uint64_t kUnit = 512;
// The most that a container can hold on a device, in bytes: 36 bits of units.
inline constexpr uint64_t kMaxBytes = ((uint64_t{1} << 36) - 1) * kUnit;

enum class CorePolicy : uint32_t { kDefault = 0, kForce = 1, kDisable = 2 };

// The container's total on a device, and the last operation. The next operation completes it in its
// slot first (accounting/counters.h). Written only as a whole, by one compare-and-swap.
struct alignas(16) TotalWord {
  uint64_t low;  // units: 36 bits; sequence of the operation in its slot: 28 bits
  // units added: 37 bits, signed; slot: 10 bits; kind of operation: 2 bits; count of operations: 15
  // bits
  uint64_t high;
};

// One process's share of a device: units, 36 bits; sequence of the last operation, 28 bits.
using ShareWord = uint64_t;

// In place of a slot: the lent memory, which is in no process's share (accounting/lending.h).
inline constexpr uint32_t kLentSlot = kMaxSlots;

// On a cache line of its own: every allocation of any process in the container writes it.
struct alignas(64) DeviceAccounting {
  TotalWord total;
  uint64_t key;      // a digest of the device's UUID; 0: not named yet
  uint64_t context;  // bytes that a context takes of it; 0: not known yet
  // Memory that processes still hold after its maker gave it up (accounting/lending.h).
  ShareWord lent;
  uint64_t imports;  // count of imports begun
  // The last check whether handed-on memory came free: free bytes plus the bytes that the container
  // counted, and when, in ns of the monotonic clock.
  uint64_t balance;
  uint64_t balance_at;
};

// One process. It owns the slot while it holds the lock of byte kLocks + slot of the file.
struct alignas(64) SlotAccounting {
  ShareWord share[kMaxDevices];
  // 0: free. Otherwise the process: its id in the lower half, and above it the lower half of its
  // start time in clock ticks. On a kernel without such locks, this word alone decides ownership.
  uint64_t owner;
  // Sums over all processes that had the slot: allocations refused for a limit, and ns that
  // launches waited for their share of time or for the monitor. For the monitor's counters alone.
  uint64_t refused;
  uint64_t waited;
  uint64_t spare[5];
};

// The container's share of a device's time (time/bucket.h), on a cache line of its own.
struct alignas(64) TimeAccounting {
  // Written only as a whole. `low`: ns of the device that may be used, negative if owed (40 bits,
  // signed). Above them is the mark of the flight whose end was charged last. `high`: the time up
  // to which the share was added, in ns of the monotonic clock.
  TotalWord bucket;
  uint64_t busy_end;  // measured time is charged up to here
  uint64_t used;      // ns, the sum of all charges to the container
  // ns, the sum of all charges to other containers, and when the agent wrote it, in ns of the
  // monotonic clock. Only the agent writes both. 0: it never did.
  uint64_t others;
  uint64_t others_at;
  // ns that were measured and not charged, because other containers must have had them
  // (time/neighbours.h). `others` is subtracted up to `settled`.
  uint64_t waited;
  uint64_t settled;
};

// The exchange by which long kernels are measured while the device runs no other work
// (time/calibration.h). The library asks; the agent holds all containers of the device for a
// moment. ns of the monotonic clock, except wanted_ns; 0: never.
struct alignas(64) CalibrationAccounting {
  // Written by the container's processes: when a launch asked for a calibration, and how long such
  // a run takes in company. Then the moment that one process has taken, and when it measured its
  // run.
  uint64_t wanted_at;
  uint64_t wanted_ns;
  uint64_t taken;
  uint64_t done_at;
  // Written by the agent alone. From alone_from to alone_until only this container's new launches
  // run on the device. From held_from to held_until its other launches wait.
  uint64_t alone_from;
  uint64_t alone_until;
  uint64_t held_from;
  uint64_t held_until;
};

// The longest hold of the agent. A word beyond it was not written by the agent.
inline constexpr uint64_t kMostHeld = 500'000'000;  // ns
// Kernels that take longer in company are not calibrated.
inline constexpr uint64_t kLongestCalibrated = 200'000'000;  // ns

// A process's launches on a device that are not measured yet. The slot's owner writes it, and after
// its death the process that claimed the slot. Any process may clear `since` of a flight that the
// bucket's mark names as charged (time/in_flight.h).
struct InFlight {
  uint64_t since;  // when it began, in ns of the monotonic clock; 0: no flight
  int64_t taken;   // ns taken from the bucket for it
};

// Memory of a device that processes share (accounting/lending.h). The slot's owner writes it, and
// after its death the process that claimed the slot. Any process may take `doubtful`. Bytes, except
// the last two.
struct Lending {
  uint64_t exported;  // held by this process, and perhaps by others as well
  uint64_t imported;  // made by others, and counted for them or as lent
  uint64_t kept;      // lent while perhaps only a descriptor held it
  uint64_t doubtful;  // given up just now, and perhaps freed by another process
  uint32_t unsized;   // imports of unknown size
  uint32_t parting;   // calls under way that give up such memory
};

struct alignas(64) Accounting {
  uint64_t magic;
  uint32_t version;
  uint32_t size;  // of this part
  CorePolicy core_policy;
  uint32_t oversubscribe;
  uint32_t slots_used;  // the highest ever used, plus one
  uint32_t look_at;     // the slot where the next search for dead processes begins
  uint64_t reaped_at;   // when a dead process was last found, in ns of the monotonic clock
  // When a launch last took back the monitor's block, in ns of the monotonic clock. No launch runs
  // until the monitor has had time to write its block again.
  uint64_t unblocked_at;
  // When a launch last found a write of the monitor, in ns of the monotonic clock.
  uint64_t monitor_at;
  uint64_t spare;
  DeviceAccounting devices[kMaxDevices];
  SlotAccounting slots[kMaxSlots];
  TimeAccounting times[kMaxDevices];
  InFlight in_flight[kMaxSlots][kMaxDevices];
  CalibrationAccounting calibrations[kMaxDevices];
  Lending lendings[kMaxSlots][kMaxDevices];
};

struct Region {
  HamiRegion hami;
  uint8_t byte_after[8];
  Accounting accounting;
};

inline constexpr size_t kAccountingOffset = 2008960;
static_assert(offsetof(Region, accounting) == kAccountingOffset && kAccountingOffset % 64 == 0);
static_assert(sizeof(TotalWord) == 16 && sizeof(DeviceAccounting) == 64 &&
              sizeof(SlotAccounting) == 192);
static_assert(offsetof(Accounting, version) == 8 && offsetof(Accounting, size) == 12);
static_assert(offsetof(Accounting, core_policy) == 16 && offsetof(Accounting, oversubscribe) == 20);
static_assert(offsetof(Accounting, slots_used) == 24 && offsetof(Accounting, look_at) == 28);
static_assert(offsetof(Accounting, reaped_at) == 32 && offsetof(Accounting, unblocked_at) == 40);
static_assert(offsetof(Accounting, monitor_at) == 48);
static_assert(offsetof(Accounting, devices) == 64 && offsetof(Accounting, slots) == 1088);
static_assert(offsetof(TimeAccounting, busy_end) == 16 && offsetof(TimeAccounting, used) == 24);
static_assert(offsetof(TimeAccounting, others) == 32 && offsetof(TimeAccounting, others_at) == 40);
static_assert(offsetof(Accounting, times) == 1088 + 192 * 1024 && sizeof(TimeAccounting) == 64);
static_assert(offsetof(Accounting, in_flight) == 1088 + 192 * 1024 + 64 * 16 &&
              sizeof(InFlight) == 16);
static_assert(offsetof(CalibrationAccounting, alone_from) == 32 &&
              sizeof(CalibrationAccounting) == 64);
static_assert(offsetof(CalibrationAccounting, held_from) == 48);
static_assert(offsetof(Accounting, calibrations) == 1088 + 192 * 1024 + 64 * 16 + 16 * 1024 * 16);
static_assert(offsetof(Accounting, lendings) == offsetof(Accounting, calibrations) + 64 * 16);
static_assert(sizeof(Accounting) == offsetof(Accounting, lendings) + 40 * 1024 * 16 &&
              sizeof(Lending) == 40);
static_assert(offsetof(DeviceAccounting, lent) == 32 && offsetof(DeviceAccounting, imports) == 40);

inline constexpr size_t kRegionSize = sizeof(Region);
inline constexpr size_t kHamiFileSize = sizeof(HamiRegion) + 1;

// The lock of slot N is on the file's byte kLocks + N, far behind any end that the file may get.
inline constexpr int64_t kLocks = int64_t{1} << 32;

// The limits file: text, one entry a line; '#' begins a comment.
//
//   tessera-limits 1
//   device GPU-8dcd427f-483b-b48f-d7e5-75fb19a52b76 memory=2147483648 cores=30
//   policy=default | force | disable
//   priority=0 | 1              0: high
//   oversubscribe=no | yes
//   memory-by=library | driver  driver: kernel or driver hold the container to its memory
//                               (dmem.max, MPS of version 3): the library counts and shows it,
//                               and refuses nothing; not with oversubscribe
//   core-policy=fixed | free    fixed: the stricter of file and environment;
//                               free: the environment's
//   region=/path                the region; otherwise the environment names it
//
// memory: bytes; cores: percent; 0 or none: no limit. Unknown keys are ignored.
inline constexpr char kLimitsPath[] = "/run/tessera/vgpu/limits";
inline constexpr size_t kLimitsSize = 64 * 1024;  // at most
// A file of one word, for processes that have no limits or do not share the container's accounting.
//   "open"               the process runs without the missing limits
//   "closed"             it gets no memory
//   kAsBuilt or no file  the library's build decides
//
// A library that was built closed accepts "open", and the limits file, only on a read-only mount,
// where no program of the container can write.
inline constexpr char kNoLimitsPath[] = "/run/tessera/vgpu/no-limits";
inline constexpr char kAsBuilt[] = "built";
// The agent mounts both files read-only from a directory "limits/GRANT" of its node. Agents of
// older versions mounted that directory. It lies in the same directory as the file that the agent
// mounts as /etc/ld.so.preload.
//
// If /etc/ld.so.preload is a mount of "DIR/ld.so.preload", both files must be mounts of
// "DIR/limits/GRANT" on the same file system (limits/mounts.h). Any other file in their place, from
// the pod or its image, denies memory.
inline constexpr char kLimitsName[] = "tessera-limits";
inline constexpr uint32_t kLimitsVersion = 1;
inline constexpr int kDefaultPriority = 1;
inline constexpr char kDefaultRegionPath[] = "/tmp/cudevshr.cache";

// A string in every library of this tree, by which the agent recognises it.
inline constexpr char kLibraryMark[] = "tessera limiter, contract 6";

// The contents of a new region. The agent makes it before the container starts, otherwise the
// container's first process. The file must appear complete, once, and is never replaced. So its
// maker writes it without a name, or elsewhere on the same file system, and links it in.
struct RegionDevice {
  const char* uuid = "";  // empty: not known yet
  uint64_t bytes = 0;     // 0: no limit
  uint64_t cores = 0;     // percent; 0: no limit
  uint64_t context = 0;   // bytes that a context takes; 0: not known
};

struct RegionImage {
  const RegionDevice* devices = nullptr;
  int count = 0;
  CorePolicy core_policy = CorePolicy::kDefault;
  int32_t priority = kDefaultPriority;
  bool oversubscribe = false;
};

// A digest that is never 0, by which the accounting knows a device (FNV-1a).
inline uint64_t DeviceKey(const char* uuid) {
  uint64_t key = 0xcbf29ce484222325;
  for (; *uuid != '\0'; ++uuid) key = (key ^ static_cast<uint8_t>(*uuid)) * 0x100000001b3;
  return key == 0 ? 1 : key;
}

// Makes a region of kRegionSize zero bytes. The magic word is written last: a reader that sees it
// sees a complete region.
inline void MakeRegion(const RegionImage& image, Region* region) {
  HamiRegion& hami = region->hami;
  Accounting& accounting = region->accounting;
  hami.major = kHamiMajor;
  hami.minor = kHamiMinor;
  for (int i = 0; i < image.count && i < kMaxDevices; ++i) {
    const RegionDevice& device = image.devices[i];
    for (int at = 0; at < kUuidSize - 1 && device.uuid[at] != '\0'; ++at) {
      hami.uuids[i][at] = device.uuid[at];
    }
    if (device.uuid[0] != '\0') {
      accounting.devices[i].key = DeviceKey(hami.uuids[i]);
      hami.device_num = static_cast<uint64_t>(i) + 1;
    }
    accounting.devices[i].context = device.context;
    hami.limit[i] = device.bytes;
    hami.sm_limit[i] = device.cores == 0 || device.cores > 100 ? 100 : device.cores;
  }
  hami.utilization_switch = 1;
  hami.recent_kernel = 2;
  hami.priority = image.priority;
  accounting.version = kAccountingVersion;
  accounting.size = sizeof(Accounting);
  accounting.core_policy = image.core_policy;
  accounting.oversubscribe = image.oversubscribe ? 1 : 0;
  accounting.magic = kAccountingMagic;
  // HAMi-core's semaphores start unlocked.
  hami.slot_semaphore[0] = 1;
  hami.init_semaphore[0] = 1;
  __atomic_store_n(&hami.magic, kHamiMagic, __ATOMIC_RELEASE);
}

}  // namespace tessera::limiter
