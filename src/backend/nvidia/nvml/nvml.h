// SPDX-License-Identifier: Apache-2.0
// NVML: libnvidia-ml.so.1 of the installed driver, opened at run time.
//
// Library is one opened and initialised copy, shared by all callers. The last owner shuts it down
// and unloads it, so that a driver can be replaced. Its calls may take any time, or hang with their
// GPU, so no lock is held during a call.
//
// Session hands out the open library, and opens one if there is none. The driver may be installed
// late, lost, and come back. Release makes the session let go of the library until TakeUp. There is
// one session for each driver root in a process, shared by the backends of all resources.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/nvidia/nvml/api.h"
#include "backend/nvidia/nvml/in_flight_calls.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/result.h"
#include "os/files.h"

namespace tessera::nvml {

// A failed call.
struct Failure {
  std::string_view function;  // "nvmlDeviceGetUUID"
  Return code = Return::kUnknown;
  bool operator==(const Failure&) const = default;
};
template <class T>
using Answer = tl::expected<T, Failure>;

// Whether the whole driver failed, not one GPU. The library must then be opened again.
bool IsOfDriver(const Failure& failure);

// Any thread.
class Library {
 public:
  // Opens and initialises the first path that is a file; if none is, the last path. kDriverMissing
  // when that fails.
  static Result<std::shared_ptr<const Library>> Open(const std::vector<std::string>& paths);
  ~Library();
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  Answer<std::string> DriverVersion() const;
  // The newest CUDA version that the driver supports: 12080 for 12.8.
  Answer<int> CudaVersion() const;
  Answer<unsigned> DeviceCount() const;
  Answer<DeviceHandle> DeviceByIndex(unsigned index) const;
  Answer<std::string> Uuid(DeviceHandle device) const;
  Answer<std::string> Name(DeviceHandle device) const;
  Answer<unsigned> MinorNumber(DeviceHandle device) const;
  Answer<PciInfo> Pci(DeviceHandle device) const;
  Answer<Memory> MemoryOf(DeviceHandle device) const;
  struct ComputeCapability {
    int major = 0;
    int minor = 0;
  };
  Answer<ComputeCapability> ComputeCapabilityOf(DeviceHandle gpu) const;

  // The state of the GPU's NVLink with this number, from 0. kNotSupported or kInvalidArgument: the
  // GPU has no such link.
  Answer<bool> IsNvLinkUp(DeviceHandle gpu, unsigned link) const;
  Answer<NvLinkRemoteType> NvLinkRemote(DeviceHandle gpu, unsigned link) const;
  Answer<PciInfo> NvLinkRemotePci(DeviceHandle gpu, unsigned link) const;
  Answer<TopologyLevel> CommonAncestor(DeviceHandle a, DeviceHandle b) const;
  Answer<GpuFabricInfo> Fabric(DeviceHandle gpu) const;

  // Whether the GPU is in MIG mode. Null: the GPU or the driver does not support MIG.
  Answer<std::optional<bool>> MigMode(DeviceHandle gpu) const;
  Answer<bool> IsInMigMode(DeviceHandle gpu) const;  // false in both cases
  struct MigHandle {
    unsigned index = 0;  // among the GPU's devices, with gaps
    DeviceHandle device = nullptr;
  };
  Answer<std::vector<MigHandle>> MigDevices(DeviceHandle gpu) const;
  Answer<DeviceAttributes> Attributes(DeviceHandle mig_device) const;
  Answer<unsigned> GpuInstance(DeviceHandle mig_device) const;
  Answer<unsigned> ComputeInstance(DeviceHandle mig_device) const;
  // The profile, by NVML's number, that this GPU instance was made from. kUnknownProfile: it is
  // none of the numbered ones.
  Answer<unsigned> GpuInstanceProfile(DeviceHandle gpu, unsigned gpu_instance) const;

  // The GPU's condition.
  Answer<uint64_t> EccErrors(DeviceHandle gpu,
                             MemoryErrorType type) const;  // since the driver started
  struct RemappedRows {
    unsigned corrected = 0;  // for errors that ECC corrected
    unsigned uncorrected = 0;
    bool pending = false;
    bool failed = false;
  };
  Answer<RemappedRows> Remapped(DeviceHandle gpu) const;
  Answer<bool> IsPageRetirementPending(DeviceHandle gpu) const;
  Answer<uint64_t> ClockReasons(DeviceHandle gpu) const;

  // What the GPU measures of itself.
  Answer<MemoryV2> MemoryWithReserved(DeviceHandle gpu) const;  // drivers since 510
  Answer<Utilization> UtilizationOf(DeviceHandle gpu) const;
  Answer<unsigned> EncoderUtilization(DeviceHandle gpu) const;  // percent
  Answer<unsigned> DecoderUtilization(DeviceHandle gpu) const;  // percent
  Answer<unsigned> Temperature(DeviceHandle gpu) const;         // degrees Celsius
  Answer<unsigned> MemoryTemperature(DeviceHandle gpu) const;   // degrees Celsius
  Answer<unsigned> Power(DeviceHandle gpu) const;               // milliwatts
  Answer<uint64_t> Energy(DeviceHandle gpu) const;  // millijoules since the driver started
  Answer<unsigned> Clock(DeviceHandle gpu, ClockType type) const;  // MHz
  Answer<unsigned> PcieReplays(DeviceHandle gpu) const;

  Answer<EventSetHandle> MakeEventSet() const;
  void FreeEventSet(EventSetHandle set) const;
  Answer<uint64_t> SupportedEvents(DeviceHandle gpu) const;
  Answer<void> RegisterEvents(DeviceHandle gpu, uint64_t types, EventSetHandle set) const;
  // kTimeout if no event comes in time.
  Answer<EventData> AwaitEvent(EventSetHandle set, Duration patience) const;

  // "nvmlDeviceGetUUID: GPU is lost (15)".
  std::string Text(const Failure& failure) const;
  const std::string& path() const { return path_; }
  const std::shared_ptr<InFlightCalls>& in_flight() const { return in_flight_; }

 private:
  Library(std::string path, void* handle, const Api& api);

  const std::string path_;
  void* const handle_;  // of dlopen
  const Api api_;
  const std::shared_ptr<InFlightCalls> in_flight_ = std::make_shared<InFlightCalls>();
};

using LibraryPtr = std::shared_ptr<const Library>;

// Marks calls about the GPU of this index as in flight while it lives.
class Use {
 public:
  Use(const Library& library, unsigned gpu) : in_flight_(*library.in_flight()), gpu_(gpu) {
    in_flight_.Begin(gpu_);
  }
  ~Use() { in_flight_.End(gpu_); }
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;

 private:
  InFlightCalls& in_flight_;
  const unsigned gpu_;
};

// The paths to try, best first, for a driver below `driver_root` as the agent sees it
// (os/vendor_library.h).
std::vector<std::string> LibraryPaths(const os::Root& root, std::string_view driver_root,
                                      std::string_view soname = "libnvidia-ml.so.1");

// Any thread.
class Session {
 public:
  // The longest wait of Open for another thread's Open, which may hang in the driver.
  static constexpr Duration kPatience{10'000};

  // `module`: the directory of the loaded kernel module; each load makes a new one.
  explicit Session(std::vector<std::string> paths, std::string module = "")
      : paths_(std::move(paths)), module_(std::move(module)) {}

  // The existing session of this driver root, or a new one.
  static std::shared_ptr<Session> Of(const os::Root& root, const std::string& driver_root);

  // The library, opened if necessary; may block. kDriverMissing, kTimedOut, kReleased.
  Result<LibraryPtr> Open();
  // The open library; null: none is open. Never blocks.
  LibraryPtr current() const;
  bool is_open() const;
  // Reports that the driver behind this library is gone; the next Open opens the library again.
  void Discard(const LibraryPtr& library);
  // The number of times that the driver behind an open library was lost or replaced.
  unsigned losses() const;

  // Lets go of the library and opens none until TakeUp. It is unloaded with its last owner. This
  // call and the following ones do not wait.
  void Release();
  void TakeUp();
  bool is_released() const;
  // The reasons why libraries cannot be unloaded yet, one each; empty: none is loaded.
  std::vector<std::string> HeldBy() const;

 private:
  std::string DriverBehind(const Library& library) const;
  Result<LibraryPtr> Opened(Result<LibraryPtr> library, std::string driver);

  const std::vector<std::string> paths_;
  const std::string module_;

  mutable Mutex mutex_;  // never held over a call of the library
  ConditionVariable opened_;
  bool opening_ TESSERA_GUARDED_BY(mutex_) = false;
  bool released_ TESSERA_GUARDED_BY(mutex_) = false;
  LibraryPtr library_ TESSERA_GUARDED_BY(mutex_);
  std::string driver_
      TESSERA_GUARDED_BY(mutex_);  // behind the library that was opened last; empty: not known
  unsigned losses_ TESSERA_GUARDED_BY(mutex_) = 0;
  std::vector<std::shared_ptr<const InFlightCalls>> in_flight_
      TESSERA_GUARDED_BY(mutex_);  // of libraries that may still be loaded
};

}  // namespace tessera::nvml
