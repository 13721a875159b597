// SPDX-License-Identifier: Apache-2.0
// The part of DCMI's binary interface that is used here. libdcmi.so is opened at run time, and the
// build needs no header of Huawei's. Names without their prefix, values and layouts are those of
// Huawei's dcmi_interface_api.h, as in mind-cluster 22bb3d98. No hardware has confirmed them.
//
// Plain data; any thread. DCMI itself may be called by several threads at once.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>

namespace tessera::dcmi {

inline constexpr int kSuccess = 0;
inline constexpr int kInvalidParameter = -8001;
inline constexpr int kInitFailed = -8005;
inline constexpr int kNotReady = -8012;
inline constexpr int kBusy = -8020;
inline constexpr int kNotSupported = -8255;
inline constexpr int kFunctionNotFound = -99998;  // ours: the library lacks the function

// Where a chip is: a card, and one of its devices.
struct Place {
  int card = 0;
  int device = 0;
  auto operator<=>(const Place&) const = default;
};

inline constexpr int kTypeNpu = 0;  // the others are controllers of a card
inline constexpr int kVdie = 1;     // the kind of die id that is a chip's own
inline constexpr int kMostCards = 64;
inline constexpr uint32_t kMostErrorCodes = 128;

struct ChipInfo {
  char type[32];
  char name[32];  // "910B3"; may lack a zero at its end
  char version[32];
  uint32_t ai_cores;
  char npu_name[32];
};
static_assert(sizeof(ChipInfo) == 132);

struct PcieInfo {
  uint32_t vendor, sub_vendor, device, sub_device;
  int32_t domain;
  uint32_t bus, slot, function;
  uint8_t reserved[32];
};
static_assert(sizeof(PcieInfo) == 64);

struct DieId {
  uint32_t words[5];
};
static_assert(sizeof(DieId) == 20);

struct HbmInfo {
  uint64_t size;  // MiB
  uint32_t frequency;
  uint64_t used;  // MiB
  int32_t celsius;
  uint32_t bandwidth_percent;
};
static_assert(sizeof(HbmInfo) == 32);

struct MemoryInfo {
  uint64_t size;       // MiB
  uint64_t available;  // MiB
  uint32_t frequency;
  uint64_t huge_page_kib, huge_pages, huge_pages_free;
  uint32_t used_percent;
  uint8_t reserved[60];
};
static_assert(sizeof(MemoryInfo) == 112);

// The resources of a chip or a vNPU.
struct BaseResources {
  uint64_t token, token_max, task_timeout;
  uint32_t group;
  uint8_t vip_mode;
  uint8_t reserved[31];
};
static_assert(sizeof(BaseResources) == 64);
struct ComputingResources {
  float ai_cores, vector_cores;
  uint16_t others[8];
  uint64_t memory;  // MiB
  uint32_t event, notify, stream, model;
  uint16_t cpus[5];
  uint32_t ai_core_percent;
  uint64_t memory_total, memory_free;
  uint8_t reserved[12];
};
static_assert(sizeof(ComputingResources) == 96);
struct MediaResources {
  float engines[6];
  uint8_t reserved[32];
};
static_assert(sizeof(MediaResources) == 56);

// Questions of dcmi_get_device_info about vNPUs.
inline constexpr int kVnpus = 52;
inline constexpr uint32_t kOneVnpu = 0;
inline constexpr uint32_t kAllVnpus = 1;

inline constexpr uint32_t kAnyId = 0xffffffff;  // the driver chooses
inline constexpr uint32_t kMostVnpus = 32;      // of a chip

struct VnpuQuery {
  uint32_t id;  // the question
  uint32_t padding;
  char name[16];  // of its template; may lack a zero at its end
  uint32_t status, used_by_container, function, group;
  uint64_t container;
  BaseResources base;
  ComputingResources computing;
  MediaResources media;
};
static_assert(sizeof(VnpuQuery) == 264 && offsetof(VnpuQuery, name) == 8);

struct TotalResources {
  uint32_t vnpus;
  uint32_t ids[kMostVnpus];
  uint32_t groups, group_bits;
  BaseResources base;
  ComputingResources computing;
  MediaResources media;
};
static_assert(sizeof(TotalResources) == 360 && offsetof(TotalResources, base) == 144);

struct VnpuRequest {
  uint32_t id;
  uint32_t group;
  char name[32];  // of the template
  uint8_t reserved[64];
};
static_assert(sizeof(VnpuRequest) == 104);

struct MadeVnpu {
  uint32_t id, bus, slot, function, group;
  uint8_t reserved[32];
};
static_assert(sizeof(MadeVnpu) == 52);

struct EventFilter {  // passed by value
  uint64_t flags;     // 0: every event
  uint32_t event;
  uint8_t severity, node_type;
  uint8_t reserved[32];
};
static_assert(sizeof(EventFilter) == 48);

inline constexpr uint8_t kCleared = 0;
inline constexpr uint8_t kRaised = 1;
inline constexpr uint8_t kOnce = 2;  // it is not cleared

struct FaultEvent {
  int32_t type;  // 0: the rest holds
  struct {
    uint32_t code;
    uint16_t device;  // its logic id, by mind-cluster's use
    uint8_t node_type, node, sub_type, sub_node;
    uint8_t severity;   // 0 to 3, as a chip's health
    uint8_t assertion;  // kCleared, kRaised, kOnce
    int32_t serial, notify_serial;
    uint64_t time;
    char name[256];
    char info[32];
    uint8_t reserved[32];
  } of;
};
static_assert(sizeof(FaultEvent) == 360);
static_assert(offsetof(FaultEvent, of.time) == 32);

using EventHandler = void (*)(FaultEvent*);

// Health of a chip.
inline constexpr uint32_t kGood = 0;
inline constexpr uint32_t kMinor = 1;
inline constexpr uint32_t kMajor = 2;
inline constexpr uint32_t kCritical = 3;
inline constexpr uint32_t kAbsent = 0xffffffff;

// How the dies of a package may be given to containers.
inline constexpr int kDiesTogether = 0;

// A function of the library. It is never null: one that the library lacks returns
// kFunctionNotFound.
template <class Signature>
struct Function;
template <class... Parameters>
struct Function<int(Parameters...)> {
  static int NotThere(Parameters...) { return kFunctionNotFound; }

  const char* name;  // the symbol
  int (*call)(Parameters...) = NotThere;
};

// The functions used.
struct Api {
#define DCMI_FUNCTION(name, symbol, ...) Function<int(__VA_ARGS__)> name{#symbol};
#include "backend/ascend/functions.def"
#undef DCMI_FUNCTION
};

}  // namespace tessera::dcmi
