// SPDX-License-Identifier: Apache-2.0
// The objects behind the fake NVML's handles: the node as its description is now, and its faults.
// The library owns them. Any thread, as with NVML.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "nvml/faults.h"
#include "nvml/hardware.h"

namespace tessera::nvml {

// A GPU or a MIG device.
struct OpaqueDevice {
  unsigned index = 0;  // the GPU's place when the handle was made
  const HardwareGpu* gpu = nullptr;
  const MigInstance* mig = nullptr;  // null: the GPU itself
};

struct OpaqueGpuInstance {
  OpaqueDevice* gpu = nullptr;
  const MigInstance* mig = nullptr;  // one of the MIG devices in it
};

struct OpaqueEventSet {
  int inotify = -1;
  std::mutex mutex;
  std::map<unsigned, uint64_t> types;  // by GPU; under mutex
  size_t next = 0;                     // the next event in the fault file; under mutex
};

// The node by one version of its description. Handles point into it. So a Driver stays in memory
// after the next version is read, until the last nvmlShutdown.
struct Driver {
  // `path`: the description's. `in_its_directory`: the changes of that file's directory.
  Driver(Hardware node, const std::string& path,
         std::shared_ptr<DirectoryChanges> in_its_directory);

  // The present place of the handle's GPU. Nothing if that GPU or MIG device is gone.
  std::optional<size_t> PlaceOf(const OpaqueDevice& device) const;

  const Hardware hardware;
  const std::shared_ptr<DirectoryChanges> changes;
  WatchedFile description;
  FaultFile faults;
  std::deque<OpaqueDevice> gpus;
  std::deque<std::deque<OpaqueDevice>> migs;                // by GPU
  std::deque<std::deque<OpaqueGpuInstance>> gpu_instances;  // by GPU
};

// nvmlInit and nvmlShutdown, which count their users.
Return Open();
Return Close();
// The node as the description is now; reads it again if it has changed. Null without users.
std::shared_ptr<Driver> Current();

// The library owns event sets. One that is not freed stays until the library is unloaded.
EventSetHandle NewEventSet();
void Free(EventSetHandle set);

// Bytes of the device that processes of the fake CUDA hold. 0 if the variable TESSERA_FAKE_CUDA,
// the directory of their shared state, is not set.
uint64_t UsedByCuda(const OpaqueDevice& device);

// A call after the delay and hang that the faults order.
struct Begun {
  Return failure = Return::kSuccess;  // the faults' error; use the other members only without one
  std::shared_ptr<Driver> driver;
  std::shared_ptr<const Faults> faults;  // as read last, after any hang
};
// `function`: its name in the fault file.
Begun Begin(const char* function);
Begun BeginOn(const char* function, DeviceHandle device);

// A call about the whole node.
template <class Answer>
Return Serve(const char* function, const Answer& answer) {
  const Begun begun = Begin(function);
  return begun.failure == Return::kSuccess ? answer(*begun.driver) : begun.failure;
}
// A call about one GPU or MIG device.
template <class Answer>
Return ServeDevice(const char* function, DeviceHandle device, const Answer& answer) {
  const Begun begun = BeginOn(function, device);
  if (begun.failure != Return::kSuccess) return begun.failure;
  return answer(begun.faults->Of(device->index));
}

}  // namespace tessera::nvml
