// SPDX-License-Identifier: Apache-2.0
// The part of NVML's binary interface that is used here. libnvidia-ml.so.1 is opened at run time,
// and the build needs no header of NVIDIA's. Names without their prefix, values and layouts are
// those of NVIDIA's nvml.h. They never change: a new version gets a new name. Source: nvml.h 12.2
// as in NVIDIA/go-nvml, and later additions.
//
// Plain data; any thread. NVML itself may be called by several threads at once.
#pragma once

#include <cstdint>

namespace tessera::nvml {

enum class Return : int {
  kSuccess = 0,
  kUninitialized = 1,
  kInvalidArgument = 2,
  kNotSupported = 3,
  kNoPermission = 4,
  kNotFound = 6,
  kInsufficientSize = 7,
  kDriverNotLoaded = 9,
  kTimeout = 10,
  kLibraryNotFound = 12,
  kFunctionNotFound = 13,
  kGpuIsLost = 15,
  kResetRequired = 16,
  kOperatingSystem = 17,
  kLibRmVersionMismatch = 18,
  kGpuNotFound = 28,
  kUnknown = 999,
};

// Opaque; valid from nvmlInit to nvmlShutdown.
using DeviceHandle = struct OpaqueDevice*;
using GpuInstanceHandle = struct OpaqueGpuInstance*;
using EventSetHandle = struct OpaqueEventSet*;

// Sizes of the buffers for names.
inline constexpr unsigned kDriverVersionSize = 80;
inline constexpr unsigned kNameSize = 96;
inline constexpr unsigned kUuidSize = 96;

struct PciInfo {
  char bus_id_legacy[16];  // "0000:07:00.0"
  uint32_t domain;
  uint32_t bus;
  uint32_t device;
  uint32_t device_id;     // device and vendor
  uint32_t subsystem_id;  // subsystem and its vendor
  char bus_id[32];        // "00000000:07:00.0"
};
static_assert(sizeof(PciInfo) == 68);

struct Memory {  // bytes
  uint64_t total;
  uint64_t free;
  uint64_t used;
};
static_assert(sizeof(Memory) == 24);

inline constexpr uint32_t kMemoryVersion2 = 40 | 2 << 24;  // the size and the version

struct MemoryV2 {  // bytes
  uint32_t version;
  uint64_t total;
  uint64_t reserved;  // by driver and firmware; neither used nor free
  uint64_t free;
  uint64_t used;
};
static_assert(sizeof(MemoryV2) == 40);

struct Utilization {  // percent of the time, lately
  uint32_t gpu;       // with a kernel
  uint32_t memory;    // with memory traffic
};
static_assert(sizeof(Utilization) == 8);

// A value without a function of its own.
inline constexpr uint32_t kMemoryTemperature = 82;
struct FieldValue {
  uint32_t field;
  uint32_t scope;
  int64_t time;     // microseconds since 1970
  int64_t latency;  // microseconds
  uint32_t type;
  Return result;
  union {
    uint32_t number;  // of kMemoryTemperature
    uint64_t room;
  };
};
static_assert(sizeof(FieldValue) == 40);

struct DeviceAttributes {  // of a MIG device
  uint32_t multiprocessors;
  uint32_t shared_copy_engines;
  uint32_t shared_decoders;
  uint32_t shared_encoders;
  uint32_t shared_jpeg_engines;
  uint32_t shared_ofa_engines;
  uint32_t gpu_instance_slices;
  uint32_t compute_instance_slices;
  uint64_t memory_mib;
  bool operator==(const DeviceAttributes&) const = default;
};
static_assert(sizeof(DeviceAttributes) == 40);

struct GpuInstanceProfileInfo {
  uint32_t id;
  uint32_t p2p_supported;
  uint32_t slices;
  uint32_t instances;
  uint32_t multiprocessors;
  uint32_t copy_engines;
  uint32_t decoders;
  uint32_t encoders;
  uint32_t jpeg_engines;
  uint32_t ofa_engines;
  uint64_t memory_mib;
};
static_assert(sizeof(GpuInstanceProfileInfo) == 48);

struct GpuInstanceInfo {
  DeviceHandle device;
  uint32_t id;
  uint32_t profile;  // the id in GpuInstanceProfileInfo
  uint32_t start;
  uint32_t size;
};
static_assert(sizeof(GpuInstanceInfo) == 24);

// The state of the fabric manager's work on a GPU. GPUs of one cluster and clique, on any nodes,
// reach each other's memory over NVLink.
inline constexpr uint8_t kFabricCompleted = 3;
struct GpuFabricInfo {
  uint8_t cluster[16];  // a UUID; zero: the fabric is of this node alone
  Return status;        // the result, once completed
  uint32_t clique;
  uint8_t state;
};
static_assert(sizeof(GpuFabricInfo) == 28);

inline constexpr uint32_t kNoInstance = 0xFFFFFFFF;  // the event is about the whole GPU

struct EventData {
  DeviceHandle device;
  uint64_t type;          // one of the event types below
  uint64_t data;          // the XID of a kXidCriticalError; 999: unknown
  uint32_t gpu_instance;  // of MIG; kNoInstance: does not apply
  uint32_t compute_instance;
};
static_assert(sizeof(EventData) == 32);

// Event types; can be or-ed.
inline constexpr uint64_t kSingleBitEccError = 0x1;
inline constexpr uint64_t kDoubleBitEccError = 0x2;
inline constexpr uint64_t kXidCriticalError = 0x8;

// Reasons for lowered clocks; can be or-ed. Only the harmful ones are listed.
inline constexpr uint64_t kHardwareSlowdown = 0x8;
inline constexpr uint64_t kSoftwareThermalSlowdown = 0x20;
inline constexpr uint64_t kHardwareThermalSlowdown = 0x40;
inline constexpr uint64_t kHardwarePowerBrake = 0x80;

enum class EnableState : int { kDisabled = 0, kEnabled = 1 };
enum class MemoryErrorType : int { kCorrected = 0, kUncorrected = 1 };
enum class EccCounterType : int {
  kVolatile = 0,
  kAggregate = 1
};  // since the driver started; over the device's life

enum class TemperatureSensor : int { kGpu = 0 };
enum class ClockType : int { kGraphics = 0, kSm = 1, kMemory = 2 };

// The closest level that two GPUs share; smaller is closer.
enum class TopologyLevel : int {
  kInternal = 0,   // one board
  kSingle = 10,    // one PCIe switch
  kMultiple = 20,  // several PCIe switches, no host bridge
  kHostBridge = 30,
  kNode = 40,  // a NUMA node
  kSystem = 50,
};

inline constexpr unsigned kMostNvLinks = 36;  // 18 up to Hopper
enum class NvLinkRemoteType : int { kGpu = 0, kIbmNpu = 1, kSwitch = 2, kUnknown = 255 };

inline constexpr uint32_t kMigDisabled = 0;
inline constexpr uint32_t kMigEnabled = 1;
inline constexpr unsigned kGpuInstanceProfiles = 18;  // numbered from 0
inline constexpr unsigned kUnknownProfile = kGpuInstanceProfiles;

// A function of the library. It is never null: one that the library lacks returns kNotSupported.
template <class Signature>
struct Function;
template <class... Parameters>
struct Function<Return(Parameters...)> {
  using Pointer = Return (*)(Parameters...);
  static Return NotThere(Parameters...) { return Return::kNotSupported; }

  const char* name;  // the symbol
  Pointer call = NotThere;
};

// The functions used, each by the newest name that all drivers since 450 have. A _v2 that is newer
// stands beside the function that takes its place.
struct Api {
#define NVML_FUNCTION(name, symbol, ...) Function<Return(__VA_ARGS__)> name{#symbol};
#include "backend/nvidia/nvml/functions.def"
#undef NVML_FUNCTION
  // The only function with another return type; null: the library lacks it.
  const char* (*ErrorString)(Return) = nullptr;
};

}  // namespace tessera::nvml
