// SPDX-License-Identifier: Apache-2.0
// What stands behind the fake NVML's handles: the node as its description is now, and the faults.
// Any thread.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "nvml/faults.h"
#include "nvml/hardware.h"

namespace tessera::nvml {

struct OpaqueDevice {
  unsigned index = 0;  // of the GPU
  const HardwareGpu* gpu = nullptr;
  const MigInstance* mig = nullptr;  // null: the GPU itself
};

struct OpaqueGpuInstance {
  OpaqueDevice* gpu = nullptr;
  const MigInstance* mig = nullptr;  // one of those in it
};

struct OpaqueEventSet {
  int inotify = -1;
  std::mutex mutex;
  std::map<unsigned, uint64_t> types;  // by GPU; under mutex, as what follows
  size_t next = 0;                     // of the events in the file
};

// One state of the node; handles point into it, and stay good when the next one has come.
struct Driver {
  Driver(Hardware node, const std::string& description);

  // Where the GPU is that the handle is of; nothing when that, or the MIG device, is not there.
  std::optional<size_t> PlaceOf(const OpaqueDevice& device) const;

  const Hardware hardware;
  FaultFile faults;
  std::deque<OpaqueDevice> gpus;
  std::deque<std::deque<OpaqueDevice>> migs;  // by GPU, as what follows
  std::deque<std::deque<OpaqueGpuInstance>> gpu_instances;
};

// nvmlInit and nvmlShutdown, which count their users.
Return Open();
Return Close();
// Null while nobody has it open.
std::shared_ptr<Driver> Current();

// A call about the whole node, with the time it takes and the failure that the faults want.
Return Serve(const char* function, const std::function<Return(Driver&)>& answer);
// A call about one GPU or MIG device.
Return ServeDevice(const char* function, DeviceHandle device,
                   const std::function<Return(const GpuFaults&)>& answer);

}  // namespace tessera::nvml
