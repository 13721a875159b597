// SPDX-License-Identifier: Apache-2.0
// What stands behind the fake NVML's handles: the node as its description is now, and the faults.
// Any thread.
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
  // `path`: of the description; `in_its_directory`: what changes there.
  Driver(Hardware node, const std::string& path,
         std::shared_ptr<DirectoryChanges> in_its_directory);

  // Where the GPU is that the handle is of; nothing when that, or the MIG device, is not there.
  std::optional<size_t> PlaceOf(const OpaqueDevice& device) const;

  const Hardware hardware;
  const std::shared_ptr<DirectoryChanges> changes;
  WatchedFile description;
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

// Event sets that are not freed stay reachable for as long as the library is there.
EventSetHandle NewEventSet();
void Free(EventSetHandle set);

// Bytes of it that processes of the fake CUDA have, where TESSERA_FAKE_CUDA says where they share
// it.
uint64_t UsedByCuda(const OpaqueDevice& device);

// What a call finds once it has taken the time that the faults want.
struct Begun {
  Return failure = Return::kSuccess;  // how it fails, if so; then without what follows
  std::shared_ptr<Driver> driver;
  std::shared_ptr<const Faults> faults;  // those that it ends under
};
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
