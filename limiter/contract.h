// SPDX-License-Identifier: Apache-2.0
// What the node agent and the library in the container agree on: the region that all processes of a
// container share, and the file with its limits. Plain layout; who reads it distrusts every word.
//
// The region begins as HAMi-core's, version 1.2, at the same offsets, so that HAMi's monitor reads
// it; those words are mirrors. The library's own accounting stands behind it and has a version of
// their own.
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
  uint64_t managed;  // ours: of data, what the device had no room for and moves its pages
  uint64_t spare[2];
};

// Percent of one process on one device.
struct HamiUtilization {
  uint64_t decoder;
  uint64_t encoder;
  uint64_t sm;
  uint64_t sm_at;  // ours: when that was written, in ns of the monotonic clock
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
  int32_t proc_num;            // the highest slot ever used, and one
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

// Our part. HAMi's file is one byte longer than its region, so nothing of ours is at that byte.

inline constexpr uint64_t kAccountingMagic = 0x736b6f6f62'737374;  // "tssbooks"
inline constexpr uint32_t kAccountingVersion = 6;

// The smallest amount the accounting knows, which is what a driver gives at least.
inline constexpr uint64_t kUnit = 512;
// What a container can hold on a device; 36 bits of units.
inline constexpr uint64_t kMaxBytes = ((uint64_t{1} << 36) - 1) * kUnit;

enum class CorePolicy : uint32_t { kDefault = 0, kForce = 1, kDisable = 2 };

// All that a container holds on a device, and the last operation, which whoever comes next
// completes in its slot (accounting/counters.h). Only ever changed as a whole.
struct alignas(16) TotalWord {
  uint64_t low;  // units: 36 bits, sequence of the operation in its slot: 28 bits
  // units it added: 37 bits, signed, slot: 10 bits, kind of operation: 2 bits, count of operations:
  // 15 bits
  uint64_t high;
};

// What one process holds on a device: units: 36 bits, sequence of the last operation: 28 bits.
using ShareWord = uint64_t;

// Stands for what is lent, which is no process's share (accounting/lending.h).
inline constexpr uint32_t kLentSlot = kMaxSlots;

// On cache lines of its own: every allocation of any process in the container changes it.
struct alignas(64) DeviceAccounting {
  TotalWord total;
  uint64_t key;      // a digest of the device's UUID; 0: nobody named the device yet
  uint64_t context;  // bytes that a context takes of it; 0: nobody knows yet
  // What processes hold of memory whose maker has it no more (accounting/lending.h).
  ShareWord lent;
  uint64_t imports;  // how often one began to
  // Bytes that were free, and those that the container counted, when it was last asked whether
  // memory that was handed on is free; and when that was, in ns of the monotonic clock.
  uint64_t balance;
  uint64_t balance_at;
};

// One process. It owns the slot while it holds the lock of byte kLocks + slot of the file.
struct alignas(64) SlotAccounting {
  ShareWord share[kMaxDevices];
  // 0: free; else the process: its id, and above it the lower half of when it started in clock
  // ticks. Where there are no such locks this word is who owns the slot.
  uint64_t owner;
  uint64_t spare[7];
};

// The container's share of a device's time (time/bucket.h), on a cache line of its own.
struct alignas(64) TimeAccounting {
  // low: ns of the device that may be used, negative: owed (40 bits, signed), and above them whose
  // end was charged last; high: up to when its share was added, in ns of the monotonic clock. Only
  // ever changed as a whole.
  TotalWord bucket;
  uint64_t busy_end;  // up to when time that was measured has been charged
  uint64_t used;      // ns that the container was charged, in all
  // ns, in all, that other containers were charged by now, and when that was, in ns of the
  // monotonic clock. The agent alone writes both; at 0: nobody ever did.
  uint64_t others;
  uint64_t others_at;
  // What was measured beyond what was charged, which others must have had (time/neighbours.h): ns,
  // less what the agent says that they had up to settled.
  uint64_t waited;
  uint64_t settled;
};

// How kernels that take long are measured while nothing else runs (time/calibration.h): the library
// asks, the agent holds all containers of the device for a moment. ns of the monotonic clock, all
// but wanted_ns; 0: never.
struct alignas(64) CalibrationAccounting {
  // By the container's processes: a launch came whose kernel is to be measured so, how long such a
  // run took beside others, the moment that one of them has taken, and when it was measured.
  uint64_t wanted_at;
  uint64_t wanted_ns;
  uint64_t taken;
  uint64_t done_at;
  // By the agent alone. From here to there nothing runs on the device but what this container
  // launches now; and its other launches wait from here to there, or did.
  uint64_t alone_from;
  uint64_t alone_until;
  uint64_t held_from;
  uint64_t held_until;
};

// The agent holds nobody for longer; a word that says so was not written by it.
inline constexpr uint64_t kMostHeld = 500'000'000;  // ns
// Kernels whose runs take longer beside others are not measured so.
inline constexpr uint64_t kLongestCalibrated = 200'000'000;  // ns

// What a process has launched on a device and nobody has measured yet. Its owner alone writes it,
// and after its end whoever claimed the slot (time/in_flight.h).
struct InFlight {
  uint64_t since;  // when that began, in ns of the monotonic clock; 0: there is nothing
  int64_t taken;   // ns that were taken from the bucket for it
};

// Memory of a device that goes from one process to another (accounting/lending.h). Its owner alone
// writes it, and after its end whoever claimed the slot. Bytes, but for the last two.
struct Lending {
  uint64_t exported;  // of what it holds, what others may have as well
  uint64_t imported;  // that it has of others, and that is counted for them or as lent
  uint64_t kept;      // that it lent while a descriptor may have been all that had it
  uint64_t doubtful;  // that it gave up just now, and that somebody else may have freed
  uint32_t unsized;   // imports of which nobody knows yet how large they are
  uint32_t parting;   // calls under way that give memory up that others may have
};

struct alignas(64) Accounting {
  uint64_t magic;
  uint32_t version;
  uint32_t size;  // of this part
  CorePolicy core_policy;
  uint32_t oversubscribe;
  uint32_t slots_used;  // the highest ever used, and one
  uint32_t look_at;     // the slot where the next look for dead processes begins
  uint64_t reaped_at;   // when a dead process was last found, in ns of the monotonic clock
  // When the monitor's block was last taken back, to see whether it blocks again; in ns of the
  // monotonic clock. Until it had time to, nothing is launched.
  uint64_t unblocked_at;
  // When a launch last found that a monitor had written, likewise.
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

// The lock of slot N is of the file's byte kLocks + N, far behind its end whatever is added to it.
inline constexpr int64_t kLocks = int64_t{1} << 32;

// The limits file: text, one line each; '#' begins a comment.
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
// memory: bytes; cores: percent; 0 or none: no limit. Unknown keys are passed over.
inline constexpr char kLimitsPath[] = "/run/tessera/vgpu/limits";
inline constexpr size_t kLimitsSize = 64 * 1024;  // at most
// What a process does that finds no limits, or does not share the container's accounting: a file
// with one word, "open" (it goes without the limits that it lacks), "closed" (it gets no memory) or
// kAsBuilt. Without it that is as the library was built. One that was built closed takes this
// file's "open" and the limits file on a read-only mount alone, where no program of the container
// writes.
inline constexpr char kNoLimitsPath[] = "/run/tessera/vgpu/no-limits";
inline constexpr char kAsBuilt[] = "built";
// An agent mounts both, read-only, of a directory "limits/GRANT" of its node (or that directory,
// as agents of before did) which stands beside the file that it mounts as /etc/ld.so.preload.
// Where that one is such a mount, "DIR/ld.so.preload", these two count as mounts of
// "DIR/limits/GRANT" on the same file system alone (limits/mounts.h): what is something else there,
// of the pod's or its image's, denies memory.
inline constexpr char kLimitsName[] = "tessera-limits";
inline constexpr uint32_t kLimitsVersion = 1;
inline constexpr int kDefaultPriority = 1;
inline constexpr char kDefaultRegionPath[] = "/tmp/cudevshr.cache";

// What a library of this tree has in it, by which the agent tells it from others.
inline constexpr char kLibraryMark[] = "tessera limiter, contract 6";

// The bytes of a new region, for whoever makes one: the agent before the container starts, else the
// container's first process. The file is to appear complete, once, and is never replaced: it is
// written without a name or elsewhere on the same file system, and linked in.
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

// Makes a region of kRegionSize zero bytes; the magic word comes last.
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
  // The semaphores of HAMi-core are free.
  hami.slot_semaphore[0] = 1;
  hami.init_semaphore[0] = 1;
  __atomic_store_n(&hami.magic, kHamiMagic, __ATOMIC_RELEASE);
}

}  // namespace tessera::limiter
