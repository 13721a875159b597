// SPDX-License-Identifier: Apache-2.0
// A fake libnvidia-ml.so.1. It answers as NVML on the node that one file describes (hardware.h),
// with the faults of another (faults.h), and reads both again after each change. The variable
// TESSERA_FAKE_NVML names the description; without it, it is fake-nvml.yaml in the library's
// directory. The fault file has the same name with ".faults" appended.
// Functions, values and errors follow NVIDIA's nvml.h (backend/nvidia/nvml/api.h). Any thread may
// call any function. A call that hangs does so until its fault is removed, and blocks no other
// call.
#include <poll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <optional>

#include "nvml/driver.h"

namespace tessera::nvml {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr unsigned kUsePeriod = 167'000;  // us
constexpr unsigned kUnsignedInt = 1;      // the type of a field's value

Return Write(const std::string& text, char* out, unsigned size) {
  if (text.size() >= size) return Return::kInsufficientSize;
  std::memcpy(out, text.c_str(), text.size() + 1);
  return Return::kSuccess;
}

template <class T>
Return Give(const T& value, T* out) {
  *out = value;
  return Return::kSuccess;
}

// A gauge of the description; a part of a GPU has none.
template <class T>
Return GiveGauge(const OpaqueDevice& device, const char* key, T* out) {
  const auto gauge = device.gpu->gauges.find(key);
  if (device.mig != nullptr || gauge == device.gpu->gauges.end()) return Return::kNotSupported;
  return Give(static_cast<T>(gauge->second), out);
}

// How busy it is, which a GPU in MIG mode does not tell.
Return GiveUse(const OpaqueDevice& device, const char* key, unsigned* out) {
  return device.gpu->mig_enabled ? Return::kNotSupported : GiveGauge(device, key, out);
}

Memory MemoryOf(const OpaqueDevice& device) {
  const uint64_t mib =
      device.mig == nullptr ? device.gpu->memory_mib : device.mig->attributes.memory_mib;
  const uint64_t used = UsedByCuda(device);
  return {.total = mib << 20, .free = (mib << 20) - used, .used = used};
}

Return WithMig(DeviceHandle device, const std::function<Return(const MigInstance&)>& answer) {
  return device->mig == nullptr ? Return::kInvalidArgument : answer(*device->mig);
}

Return WithLink(DeviceHandle device, unsigned link,
                const std::function<Return(const NvLink&)>& answer) {
  if (link >= kMostNvLinks) return Return::kInvalidArgument;
  const std::vector<NvLink>& links = device->gpu->links;
  return link < links.size() ? answer(links[link]) : Return::kNotSupported;
}

// Takes the next event that the set is registered for; nothing if there is none yet.
std::optional<EventData> Take(OpaqueEventSet& set, Driver& driver) {
  const auto faults = driver.faults.Now();
  std::lock_guard lock(set.mutex);
  while (set.next < faults->events.size()) {
    const FaultEvent& event = faults->events[set.next++];
    const auto wanted = set.types.find(event.gpu);
    if (event.gpu >= driver.gpus.size()) continue;
    if (wanted == set.types.end() || (wanted->second & event.type) == 0) continue;
    return EventData{&driver.gpus.at(event.gpu), event.type, event.xid, event.gpu_instance,
                     event.compute_instance};
  }
  return std::nullopt;
}

}  // namespace
}  // namespace tessera::nvml

using namespace tessera::nvml;  // NOLINT(google-build-using-namespace)

extern "C" {

#pragma GCC visibility push(default)
// NOLINTBEGIN(readability-identifier-naming): these are NVML's names

Return nvmlInit_v2() {
  return Open();
}

Return nvmlShutdown() {
  return Close();
}

const char* nvmlErrorString(Return code) {
  switch (code) {
    case Return::kSuccess:
      return "The operation was successful";
    case Return::kUninitialized:
      return "Uninitialized";
    case Return::kInvalidArgument:
      return "Invalid Argument";
    case Return::kNotSupported:
      return "Not Supported";
    case Return::kNotFound:
      return "Not Found";
    case Return::kInsufficientSize:
      return "Insufficient Size";
    case Return::kDriverNotLoaded:
      return "Driver Not Loaded";
    case Return::kTimeout:
      return "Timeout";
    case Return::kGpuIsLost:
      return "GPU is lost";
    case Return::kResetRequired:
      return "GPU requires reset";
    case Return::kLibRmVersionMismatch:
      return "Driver/library version mismatch";
    default:
      return "Unknown Error";
  }
}

Return nvmlSystemGetDriverVersion(char* version, unsigned size) {
  return Serve(__func__,
               [&](Driver& driver) { return Write(driver.hardware.driver, version, size); });
}

Return nvmlSystemGetCudaDriverVersion_v2(int* version) {
  return Serve(__func__, [&](Driver& driver) {
    const int cuda = driver.hardware.cuda;
    return cuda == 0 ? Return::kNotSupported : Give(cuda, version);
  });
}

Return nvmlDeviceGetCount_v2(unsigned* count) {
  return Serve(__func__, [&](Driver& driver) {
    return Give(static_cast<unsigned>(driver.gpus.size()), count);
  });
}

Return nvmlDeviceGetHandleByIndex_v2(unsigned index, DeviceHandle* device) {
  const auto driver = Current();
  if (driver == nullptr) return Return::kUninitialized;
  if (index >= driver->gpus.size()) return Return::kInvalidArgument;
  const DeviceHandle found = &driver->gpus[index];
  return ServeDevice(__func__, found, [&](const GpuFaults&) { return Give(found, device); });
}

Return nvmlDeviceGetHandleByUUID(const char* uuid, DeviceHandle* device) {
  const auto driver = Current();
  if (driver == nullptr) return Return::kUninitialized;
  DeviceHandle found = nullptr;
  for (OpaqueDevice& gpu : driver->gpus) {
    if (gpu.gpu->uuid == uuid) found = &gpu;
    for (OpaqueDevice& mig : driver->migs[gpu.index]) {
      if (mig.mig->uuid == uuid) found = &mig;
    }
  }
  if (found == nullptr) return Return::kNotFound;
  return ServeDevice(__func__, found, [&](const GpuFaults&) { return Give(found, device); });
}

Return nvmlDeviceGetUUID(DeviceHandle device, char* uuid, unsigned size) {
  return ServeDevice(__func__, device, [&](const GpuFaults&) {
    return Write(device->mig == nullptr ? device->gpu->uuid : device->mig->uuid, uuid, size);
  });
}

Return nvmlDeviceGetName(DeviceHandle device, char* name, unsigned size) {
  return ServeDevice(__func__, device,
                     [&](const GpuFaults&) { return Write(device->gpu->model, name, size); });
}

Return nvmlDeviceGetMinorNumber(DeviceHandle device, unsigned* minor) {
  return ServeDevice(__func__, device, [&](const GpuFaults&) {
    return device->gpu->integrated ? Return::kNotSupported : Give(device->gpu->minor, minor);
  });
}

Return nvmlDeviceGetPciInfo_v3(DeviceHandle device, PciInfo* pci) {
  return ServeDevice(__func__, device, [&](const GpuFaults&) {
    return device->gpu->integrated ? Return::kNotSupported : Give(device->gpu->pci, pci);
  });
}

Return nvmlDeviceGetMemoryInfo(DeviceHandle device, Memory* memory) {
  if (memory == nullptr) return Return::kInvalidArgument;
  return ServeDevice(__func__, device,
                     [&](const GpuFaults&) { return Give(MemoryOf(*device), memory); });
}

// Reports the driver's own memory as `reserved`, as NVML's version 2 does.
Return nvmlDeviceGetMemoryInfo_v2(DeviceHandle device, MemoryV2* memory) {
  if (memory == nullptr) return Return::kInvalidArgument;
  return ServeDevice(__func__, device, [&](const GpuFaults&) {
    const Memory all = MemoryOf(*device);
    const uint64_t reserved = all.total / 32;
    const uint64_t free = std::max(all.free, reserved) - reserved;
    return Give(MemoryV2{memory->version, all.total, reserved, free, all.used}, memory);
  });
}

Return nvmlDeviceGetUtilizationRates(DeviceHandle device, Utilization* utilization) {
  return ServeDevice(__func__, device, [&](const GpuFaults&) {
    const Return result = GiveUse(*device, "utilization", &utilization->gpu);
    if (result != Return::kSuccess) return result;
    return GiveUse(*device, "memory-utilization", &utilization->memory);
  });
}

Return nvmlDeviceGetEncoderUtilization(DeviceHandle device, unsigned* percent, unsigned* period) {
  return ServeDevice(__func__, device, [&](const GpuFaults&) {
    *period = kUsePeriod;
    return GiveUse(*device, "encoder", percent);
  });
}

Return nvmlDeviceGetDecoderUtilization(DeviceHandle device, unsigned* percent, unsigned* period) {
  return ServeDevice(__func__, device, [&](const GpuFaults&) {
    *period = kUsePeriod;
    return GiveUse(*device, "decoder", percent);
  });
}

Return nvmlDeviceGetTemperature(DeviceHandle device, TemperatureSensor sensor, unsigned* celsius) {
  return ServeDevice(__func__, device, [&](const GpuFaults&) {
    if (sensor != TemperatureSensor::kGpu) return Return::kInvalidArgument;
    return GiveGauge(*device, "temperature", celsius);
  });
}

Return nvmlDeviceGetFieldValues(DeviceHandle device, int count, FieldValue* values) {
  return ServeDevice(__func__, device, [&](const GpuFaults&) {
    for (FieldValue* value = values; value != values + count; ++value) {
      value->type = kUnsignedInt;
      value->result = value->field == kMemoryTemperature
                          ? GiveGauge(*device, "memory-temperature", &value->number)
                          : Return::kNotSupported;
    }
    return Return::kSuccess;
  });
}

Return nvmlDeviceGetPowerUsage(DeviceHandle device, unsigned* milliwatts) {
  return ServeDevice(__func__, device,
                     [&](const GpuFaults&) { return GiveGauge(*device, "power", milliwatts); });
}

Return nvmlDeviceGetTotalEnergyConsumption(DeviceHandle device, uint64_t* millijoules) {
  return ServeDevice(__func__, device,
                     [&](const GpuFaults&) { return GiveGauge(*device, "energy", millijoules); });
}

Return nvmlDeviceGetClockInfo(DeviceHandle device, ClockType type, unsigned* mhz) {
  return ServeDevice(__func__, device, [&](const GpuFaults&) {
    return GiveGauge(*device, type == ClockType::kMemory ? "memory-clock" : "sm-clock", mhz);
  });
}

Return nvmlDeviceGetPcieReplayCounter(DeviceHandle device, unsigned* count) {
  return ServeDevice(__func__, device,
                     [&](const GpuFaults&) { return GiveGauge(*device, "pcie-replays", count); });
}

Return nvmlDeviceGetCudaComputeCapability(DeviceHandle device, int* major, int* minor) {
  return ServeDevice(__func__, device, [&](const GpuFaults&) {
    *major = device->gpu->compute_major;
    return Give(device->gpu->compute_minor, minor);
  });
}

Return nvmlDeviceGetMigMode(DeviceHandle device, unsigned* current, unsigned* pending) {
  return ServeDevice(__func__, device, [&](const GpuFaults&) {
    if (!device->gpu->mig_capable) return Return::kNotSupported;
    *current = device->gpu->mig_enabled ? kMigEnabled : kMigDisabled;
    return Give(*current, pending);
  });
}

Return nvmlDeviceGetMaxMigDeviceCount(DeviceHandle device, unsigned* count) {
  return ServeDevice(__func__, device, [&](const GpuFaults&) {
    if (device->mig != nullptr) return Return::kInvalidArgument;
    return Give(device->gpu->mig_capable ? 7U : 0U, count);
  });
}

Return nvmlDeviceGetMigDeviceHandleByIndex(DeviceHandle device, unsigned index,
                                           DeviceHandle* mig_device) {
  const auto driver = Current();
  return ServeDevice(__func__, device, [&](const GpuFaults&) {
    if (device->mig != nullptr) return Return::kInvalidArgument;
    if (!device->gpu->mig_enabled) return Return::kNotSupported;
    const auto place = driver->PlaceOf(*device);
    if (!place) return Return::kNotFound;
    std::deque<OpaqueDevice>& instances = driver->migs[*place];
    return index < instances.size() ? Give(&instances[index], mig_device) : Return::kNotFound;
  });
}

Return nvmlDeviceGetAttributes_v2(DeviceHandle device, DeviceAttributes* attributes) {
  return ServeDevice(__func__, device, [&](const GpuFaults&) {
    return WithMig(device, [&](auto& mig) { return Give(mig.attributes, attributes); });
  });
}

Return nvmlDeviceGetGpuInstanceId(DeviceHandle device, unsigned* id) {
  return ServeDevice(__func__, device, [&](const GpuFaults&) {
    return WithMig(device, [&](auto& mig) { return Give(mig.gpu_instance, id); });
  });
}

Return nvmlDeviceGetComputeInstanceId(DeviceHandle device, unsigned* id) {
  return ServeDevice(__func__, device, [&](const GpuFaults&) {
    return WithMig(device, [&](auto& mig) { return Give(mig.compute_instance, id); });
  });
}

Return nvmlDeviceGetGpuInstanceById(DeviceHandle device, unsigned id, GpuInstanceHandle* instance) {
  const auto driver = Current();
  return ServeDevice(__func__, device, [&](const GpuFaults&) {
    const auto place = driver->PlaceOf(*device);
    if (!place) return Return::kNotFound;
    for (OpaqueGpuInstance& each : driver->gpu_instances[*place]) {
      if (each.mig->gpu_instance == id) return Give(&each, instance);
    }
    return Return::kNotFound;
  });
}

Return nvmlGpuInstanceGetInfo(GpuInstanceHandle instance, GpuInstanceInfo* info) {
  const auto driver = Current();
  return ServeDevice(__func__, instance->gpu, [&](const GpuFaults&) {
    const DeviceAttributes& attributes = instance->mig->attributes;
    for (const auto& [number, profile] : driver->hardware.profiles) {
      if (profile.slices != attributes.gpu_instance_slices ||
          profile.memory_mib != attributes.memory_mib) {
        continue;
      }
      return Give(GpuInstanceInfo{instance->gpu, instance->mig->gpu_instance, profile.id, 0,
                                  profile.slices},
                  info);
    }
    return Return::kNotFound;
  });
}

Return nvmlDeviceGetGpuInstanceProfileInfo(DeviceHandle device, unsigned profile,
                                           GpuInstanceProfileInfo* info) {
  const auto driver = Current();
  return ServeDevice(__func__, device, [&](const GpuFaults&) {
    if (profile >= kGpuInstanceProfiles) return Return::kInvalidArgument;
    const auto& profiles = driver->hardware.profiles;
    const auto found = profiles.find(profile);
    if (found == profiles.end() || !device->gpu->mig_capable) return Return::kNotSupported;
    return Give(found->second, info);
  });
}

Return nvmlDeviceGetTopologyCommonAncestor(DeviceHandle a, DeviceHandle b, TopologyLevel* level) {
  return ServeDevice(__func__, a, [&](const GpuFaults&) {
    return ServeDevice("nvmlDeviceGetTopologyCommonAncestor", b, [&](const GpuFaults&) {
      return a == b ? Return::kInvalidArgument : Give(CommonAncestor(*a->gpu, *b->gpu), level);
    });
  });
}

Return nvmlDeviceGetNvLinkState(DeviceHandle device, unsigned link, EnableState* state) {
  return ServeDevice(__func__, device, [&](const GpuFaults& faults) {
    return WithLink(device, link, [&](const NvLink&) {
      return Give(faults.links_down.contains(link) ? EnableState::kDisabled : EnableState::kEnabled,
                  state);
    });
  });
}

Return nvmlDeviceGetNvLinkRemotePciInfo_v2(DeviceHandle device, unsigned link, PciInfo* pci) {
  return ServeDevice(__func__, device, [&](const GpuFaults&) {
    return WithLink(device, link, [&](const NvLink& there) { return Give(there.remote, pci); });
  });
}

Return nvmlDeviceGetNvLinkRemoteDeviceType(DeviceHandle device, unsigned link,
                                           NvLinkRemoteType* type) {
  return ServeDevice(__func__, device, [&](const GpuFaults&) {
    return WithLink(device, link, [&](const NvLink& there) { return Give(there.type, type); });
  });
}

Return nvmlDeviceGetGpuFabricInfo(DeviceHandle device, GpuFabricInfo* info) {
  return ServeDevice(__func__, device, [&](const GpuFaults&) {
    const auto& fabric = device->gpu->fabric;
    return fabric ? Give(*fabric, info) : Return::kNotSupported;
  });
}

Return nvmlDeviceGetTotalEccErrors(DeviceHandle device, MemoryErrorType error, EccCounterType,
                                   uint64_t* count) {
  return ServeDevice(__func__, device, [&](const GpuFaults& faults) {
    const bool corrected = error == MemoryErrorType::kCorrected;
    return Give(corrected ? faults.ecc_corrected : faults.ecc_uncorrected, count);
  });
}

Return nvmlDeviceGetRemappedRows(DeviceHandle device, unsigned* corrected, unsigned* uncorrected,
                                 unsigned* pending, unsigned* failed) {
  return ServeDevice(__func__, device, [&](const GpuFaults& faults) {
    *corrected = faults.remap_corrected;
    *uncorrected = faults.remap_uncorrected;
    *pending = faults.remap_pending;
    return Give(faults.remap_failed, failed);
  });
}

Return nvmlDeviceGetRetiredPagesPendingStatus(DeviceHandle device, EnableState* pending) {
  return ServeDevice(__func__, device, [&](const GpuFaults& faults) {
    return Give(faults.retired_pending ? EnableState::kEnabled : EnableState::kDisabled, pending);
  });
}

Return nvmlDeviceGetCurrentClocksThrottleReasons(DeviceHandle device, uint64_t* reasons) {
  return ServeDevice(__func__, device,
                     [&](const GpuFaults& faults) { return Give(faults.clock_reasons, reasons); });
}

Return nvmlDeviceGetSupportedEventTypes(DeviceHandle device, uint64_t* types) {
  return ServeDevice(__func__, device, [&](const GpuFaults&) {
    return Give(kSingleBitEccError | kDoubleBitEccError | kXidCriticalError, types);
  });
}

Return nvmlEventSetCreate(EventSetHandle* set) {
  return Serve(__func__, [&](Driver& driver) {
    const std::string& path = driver.faults.path();
    EventSetHandle made = NewEventSet();
    made->inotify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    inotify_add_watch(made->inotify, path.substr(0, path.rfind('/') + 1).c_str(),
                      IN_CLOSE_WRITE | IN_MOVED_TO | IN_DELETE);
    made->next = driver.faults.Now()->events.size();
    return Give(made, set);
  });
}

Return nvmlEventSetFree(EventSetHandle set) {
  close(set->inotify);  // the set goes, even if a fault fails the call
  Free(set);
  return Serve(__func__, [](Driver&) { return Return::kSuccess; });
}

Return nvmlDeviceRegisterEvents(DeviceHandle device, uint64_t types, EventSetHandle set) {
  return ServeDevice(__func__, device, [&](const GpuFaults&) {
    std::lock_guard lock(set->mutex);
    set->types[device->index] |= types;
    return Return::kSuccess;
  });
}

Return nvmlEventSetWait_v2(EventSetHandle set, EventData* data, unsigned timeout_ms) {
  const auto limit = steady_clock::now() + milliseconds(timeout_ms);
  for (;;) {
    std::optional<EventData> event;
    const Return failure = Serve(__func__, [&](Driver& driver) {
      event = Take(*set, driver);
      return Return::kSuccess;
    });
    if (failure != Return::kSuccess) return failure;
    if (event) return Give(*event, data);
    const auto left = std::chrono::ceil<milliseconds>(limit - steady_clock::now());
    if (left.count() <= 0) return Return::kTimeout;
    // A change after Take has made the descriptor readable, so poll does not miss it.
    pollfd readable{.fd = set->inotify, .events = POLLIN, .revents = 0};
    poll(&readable, 1, static_cast<int>(left.count()));
    char changes[4096];
    while (read(set->inotify, changes, sizeof(changes)) > 0) continue;
    // This inotify may report the change before the driver's own one does.
    if (const auto driver = Current()) driver->changes->Suspect();
  }
}

// NOLINTEND(readability-identifier-naming)
#pragma GCC visibility pop

}  // extern "C"

// Checks that the library has every function that the agent looks up, with the agent's signature.
#define NVML_FUNCTION(name, symbol, ...) \
  static_assert(std::is_same_v<decltype(&(symbol)), Function<Return(__VA_ARGS__)>::Pointer>);
#include "backend/nvidia/nvml/functions.def"
#undef NVML_FUNCTION
