// SPDX-License-Identifier: Apache-2.0
// NVML: libnvidia-ml.so.1 of the driver that is installed, opened at run time.
//
// Library is one opened and initialised copy, shared by all who call it: it is shut down and
// unloaded when the last of them lets go, so that a driver can be replaced. Its calls may take any
// time, or hang with the GPU that they are about; nothing is locked meanwhile.
//
// Session hands out the library that is open now, and opens one when there is none: the driver may
// be installed later, lost, and come back; and it lets go of it on demand, for as long as it is
// told to. One a driver root and process, shared by the backends of all resources.
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

// A call that failed.
struct Failure {
  std::string_view function;  // "nvmlDeviceGetUUID"
  Return code = Return::kUnknown;
  bool operator==(const Failure&) const = default;
};
template <class T>
using Answer = tl::expected<T, Failure>;

// Whether the failure is of the whole driver, not of one GPU: the library is to be opened anew.
bool IsOfDriver(const Failure& failure);

// Any thread.
class Library {
 public:
  // The first of these paths that is a file, or the last, whatever it is; opened and initialised.
  // kDriverMissing when that fails.
  static Result<std::shared_ptr<const Library>> Open(const std::vector<std::string>& paths);
  ~Library();
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  Answer<std::string> DriverVersion() const;
  // 12080 for CUDA 12.8: the newest that the driver can serve.
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

  // Of the GPU's NVLink of that number, from 0; kNotSupported or kInvalidArgument: it has none
  // such.
  Answer<bool> IsNvLinkUp(DeviceHandle gpu, unsigned link) const;
  Answer<NvLinkRemoteType> NvLinkRemote(DeviceHandle gpu, unsigned link) const;
  Answer<PciInfo> NvLinkRemotePci(DeviceHandle gpu, unsigned link) const;
  Answer<TopologyLevel> CommonAncestor(DeviceHandle a, DeviceHandle b) const;
  Answer<GpuFabricInfo> Fabric(DeviceHandle gpu) const;

  // Whether the GPU is in MIG mode; nothing where it or the driver knows no MIG.
  Answer<std::optional<bool>> MigMode(DeviceHandle gpu) const;
  Answer<bool> IsInMigMode(DeviceHandle gpu) const;  // false then as well
  struct MigHandle {
    unsigned index = 0;  // of those of the GPU; with gaps
    DeviceHandle device = nullptr;
  };
  Answer<std::vector<MigHandle>> MigDevices(DeviceHandle gpu) const;
  Answer<DeviceAttributes> Attributes(DeviceHandle mig_device) const;
  Answer<unsigned> GpuInstance(DeviceHandle mig_device) const;
  Answer<unsigned> ComputeInstance(DeviceHandle mig_device) const;
  // NVML's number of the profile that this GPU instance was made by; kUnknownProfile where it is
  // none of those that are numbered here.
  Answer<unsigned> GpuInstanceProfile(DeviceHandle gpu, unsigned gpu_instance) const;

  // How a GPU fares.
  Answer<uint64_t> UncorrectedEccErrors(DeviceHandle gpu) const;  // since the driver's start
  struct RemappedRows {
    bool pending = false;
    bool failed = false;
  };
  Answer<RemappedRows> Remapped(DeviceHandle gpu) const;
  Answer<bool> IsPageRetirementPending(DeviceHandle gpu) const;
  Answer<uint64_t> ClockReasons(DeviceHandle gpu) const;

  Answer<EventSetHandle> MakeEventSet() const;
  void FreeEventSet(EventSetHandle set) const;
  Answer<uint64_t> SupportedEvents(DeviceHandle gpu) const;
  Answer<void> RegisterEvents(DeviceHandle gpu, uint64_t types, EventSetHandle set) const;
  // kTimeout when none has come by then.
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

// While it lives, calls about the GPU of this index are made.
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

// Where the library is looked for, best first, for a driver installed below `driver_root` as the
// agent sees it (os/vendor_library.h).
std::vector<std::string> LibraryPaths(const os::Root& root, std::string_view driver_root,
                                      std::string_view soname = "libnvidia-ml.so.1");

// Any thread.
class Session {
 public:
  // How long Open waits for another thread's Open, which may hang in the driver.
  static constexpr Duration kPatience{10'000};

  // `module`: the directory of the loaded kernel module, another one for every loading of it.
  explicit Session(std::vector<std::string> paths, std::string module = "")
      : paths_(std::move(paths)), module_(std::move(module)) {}

  // The session of this driver root that others have, or a new one.
  static std::shared_ptr<Session> Of(const os::Root& root, const std::string& driver_root);

  // The library, opened if need be; may block. kDriverMissing, kTimedOut, kReleased.
  Result<LibraryPtr> Open();
  // The library that is open; null when none is. Never blocks.
  LibraryPtr current() const;
  bool is_open() const;
  // The driver behind this library is gone: the next Open opens it anew.
  void Discard(const LibraryPtr& library);
  // How often the driver behind an open library has gone, or was another one when the library was
  // opened anew.
  unsigned losses() const;

  // Lets go of the library and opens none until TakeUp: it is unloaded as soon as nobody uses it.
  // Waits for nothing, as the others that follow.
  void Release();
  void TakeUp();
  bool is_released() const;
  // What keeps libraries from being unloaded, one each; empty: none is loaded.
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
