// SPDX-License-Identifier: Apache-2.0
#include "backend/nvidia/nvml/nvml.h"

#include <dlfcn.h>

#include <array>
#include <map>
#include <utility>

#include "backend/nvidia/nvml/library_directories.h"
#include "base/log.h"
#include "base/text.h"
#include "os/thread.h"
#include "os/vendor_library.h"

namespace tessera::nvml {
namespace {

using nvidia::kLibraryDirectories;

Api LookUp(void* handle) {
  Api api;
#define NVML_FUNCTION(function, ...) os::FindFunction(handle, api.function.name, api.function.call);
#include "backend/nvidia/nvml/functions.def"
#undef NVML_FUNCTION
  os::FindFunction(handle, "nvmlErrorString", api.ErrorString);
  return api;
}

// The value that a function returns through its last parameter.
template <class T, class... Parameters, class... Arguments>
Answer<T> Ask(const Function<Return(Parameters...)>& function, Arguments... arguments) {
  T value{};
  const Return code = function.call(arguments..., &value);
  if (code != Return::kSuccess) return tl::unexpected(Failure{function.name, code});
  return value;
}

// The text that a function writes into a buffer.
template <unsigned Size, class... Parameters, class... Arguments>
Answer<std::string> AskText(const Function<Return(Parameters...)>& function,
                            Arguments... arguments) {
  std::array<char, Size + 1> text{};  // always ends with a zero
  const Return code = function.call(arguments..., text.data(), Size);
  if (code != Return::kSuccess) return tl::unexpected(Failure{function.name, code});
  return std::string(text.data());
}

std::string TextOf(const Api& api, const Failure& failure) {
  const char* text = api.ErrorString == nullptr ? nullptr : api.ErrorString(failure.code);
  return fmt::format("{}: {} ({})", failure.function, text == nullptr ? "failed" : text,
                     static_cast<int>(failure.code));
}

}  // namespace

bool IsOfDriver(const Failure& failure) {
  return failure.code == Return::kUninitialized || failure.code == Return::kDriverNotLoaded ||
         failure.code == Return::kLibRmVersionMismatch;
}

Result<LibraryPtr> Library::Open(const std::vector<std::string>& paths) {
  const auto [handle, path, failure] = os::LoadFirst(paths, kLibraryDirectories);
  if (handle == nullptr) {
    return Fail(Reason::kDriverMissing, "cannot load NVML: {} (looked for {})", failure,
                Join(paths, ", "));
  }
  const Api api = LookUp(handle);
  if (const Return code = api.Init.call(); code != Return::kSuccess) {
    Error error{Reason::kDriverMissing, fmt::format("cannot start NVML from {}: {}", path,
                                                    TextOf(api, {api.Init.name, code}))};
    dlclose(handle);
    return Fail(std::move(error));
  }
  return LibraryPtr(new Library(path, handle, api));
}

Library::Library(std::string path, void* handle, const Api& api)
    : path_(std::move(path)), handle_(handle), api_(api) {}

Library::~Library() {
  api_.Shutdown.call();
  dlclose(handle_);
  in_flight_->Close();
  log::Info("NVML closed", {{"library", path_}});
}

Answer<std::string> Library::DriverVersion() const {
  return AskText<kDriverVersionSize>(api_.SystemGetDriverVersion);
}

Answer<int> Library::CudaVersion() const {
  return Ask<int>(api_.SystemGetCudaDriverVersion);
}

Answer<unsigned> Library::DeviceCount() const {
  return Ask<unsigned>(api_.DeviceGetCount);
}

Answer<DeviceHandle> Library::DeviceByIndex(unsigned index) const {
  return Ask<DeviceHandle>(api_.DeviceGetHandleByIndex, index);
}

Answer<std::string> Library::Uuid(DeviceHandle device) const {
  return AskText<kUuidSize>(api_.DeviceGetUuid, device);
}

Answer<std::string> Library::Name(DeviceHandle device) const {
  return AskText<kNameSize>(api_.DeviceGetName, device);
}

Answer<unsigned> Library::MinorNumber(DeviceHandle device) const {
  return Ask<unsigned>(api_.DeviceGetMinorNumber, device);
}

Answer<PciInfo> Library::Pci(DeviceHandle device) const {
  return Ask<PciInfo>(api_.DeviceGetPciInfo, device);
}

Answer<Memory> Library::MemoryOf(DeviceHandle device) const {
  return Ask<Memory>(api_.DeviceGetMemoryInfo, device);
}

Answer<Library::ComputeCapability> Library::ComputeCapabilityOf(DeviceHandle gpu) const {
  ComputeCapability capability;
  const auto minor = Ask<int>(api_.DeviceGetCudaComputeCapability, gpu, &capability.major);
  if (!minor) return tl::unexpected(minor.error());
  capability.minor = *minor;
  return capability;
}

Answer<bool> Library::IsNvLinkUp(DeviceHandle gpu, unsigned link) const {
  const auto state = Ask<EnableState>(api_.DeviceGetNvLinkState, gpu, link);
  if (!state) return tl::unexpected(state.error());
  return *state == EnableState::kEnabled;
}

Answer<NvLinkRemoteType> Library::NvLinkRemote(DeviceHandle gpu, unsigned link) const {
  return Ask<NvLinkRemoteType>(api_.DeviceGetNvLinkRemoteDeviceType, gpu, link);
}

Answer<PciInfo> Library::NvLinkRemotePci(DeviceHandle gpu, unsigned link) const {
  return Ask<PciInfo>(api_.DeviceGetNvLinkRemotePciInfo, gpu, link);
}

Answer<TopologyLevel> Library::CommonAncestor(DeviceHandle a, DeviceHandle b) const {
  return Ask<TopologyLevel>(api_.DeviceGetTopologyCommonAncestor, a, b);
}

Answer<GpuFabricInfo> Library::Fabric(DeviceHandle gpu) const {
  return Ask<GpuFabricInfo>(api_.DeviceGetGpuFabricInfo, gpu);
}

Answer<std::optional<bool>> Library::MigMode(DeviceHandle gpu) const {
  unsigned current = kMigDisabled;
  unsigned pending = kMigDisabled;
  const Return code = api_.DeviceGetMigMode.call(gpu, &current, &pending);
  if (code == Return::kNotSupported) return std::nullopt;
  if (code != Return::kSuccess) return tl::unexpected(Failure{api_.DeviceGetMigMode.name, code});
  return current == kMigEnabled;
}

Answer<bool> Library::IsInMigMode(DeviceHandle gpu) const {
  const auto mode = MigMode(gpu);
  if (!mode) return tl::unexpected(mode.error());
  return mode->value_or(false);
}

Answer<std::vector<Library::MigHandle>> Library::MigDevices(DeviceHandle gpu) const {
  const auto most = Ask<unsigned>(api_.DeviceGetMaxMigDeviceCount, gpu);
  if (!most) return tl::unexpected(most.error());
  std::vector<MigHandle> devices;
  for (unsigned i = 0; i < *most; ++i) {
    const auto device = Ask<DeviceHandle>(api_.DeviceGetMigDeviceHandleByIndex, gpu, i);
    if (device) {
      devices.push_back({i, *device});
    } else if (device.error().code != Return::kNotFound &&
               device.error().code != Return::kInvalidArgument) {
      return tl::unexpected(device.error());  // those two codes mean: no device here
    }
  }
  return devices;
}

Answer<DeviceAttributes> Library::Attributes(DeviceHandle mig_device) const {
  return Ask<DeviceAttributes>(api_.DeviceGetAttributes, mig_device);
}

Answer<unsigned> Library::GpuInstance(DeviceHandle mig_device) const {
  return Ask<unsigned>(api_.DeviceGetGpuInstanceId, mig_device);
}

Answer<unsigned> Library::ComputeInstance(DeviceHandle mig_device) const {
  return Ask<unsigned>(api_.DeviceGetComputeInstanceId, mig_device);
}

Answer<unsigned> Library::GpuInstanceProfile(DeviceHandle gpu, unsigned gpu_instance) const {
  const auto instance = Ask<GpuInstanceHandle>(api_.DeviceGetGpuInstanceById, gpu, gpu_instance);
  if (!instance) return tl::unexpected(instance.error());
  const auto info = Ask<GpuInstanceInfo>(api_.GpuInstanceGetInfo, *instance);
  if (!info) return tl::unexpected(info.error());
  bool told = false;
  for (unsigned profile = 0; profile < kGpuInstanceProfiles; ++profile) {
    const auto known =
        Ask<GpuInstanceProfileInfo>(api_.DeviceGetGpuInstanceProfileInfo, gpu, profile);
    if (known && known->id == info->profile) return profile;
    if (known) {
      told = true;
    } else if (known.error().code != Return::kNotSupported &&
               known.error().code != Return::kInvalidArgument) {
      return tl::unexpected(known.error());  // the unread one may be the profile
    }
  }
  if (told) return kUnknownProfile;
  return tl::unexpected(Failure{api_.DeviceGetGpuInstanceProfileInfo.name, Return::kNotSupported});
}

Answer<uint64_t> Library::EccErrors(DeviceHandle gpu, MemoryErrorType type) const {
  return Ask<uint64_t>(api_.DeviceGetTotalEccErrors, gpu, type, EccCounterType::kVolatile);
}

Answer<Library::RemappedRows> Library::Remapped(DeviceHandle gpu) const {
  unsigned corrected = 0;
  unsigned uncorrected = 0;
  unsigned pending = 0;
  const auto failed =
      Ask<unsigned>(api_.DeviceGetRemappedRows, gpu, &corrected, &uncorrected, &pending);
  if (!failed) return tl::unexpected(failed.error());
  return RemappedRows{.corrected = corrected,
                      .uncorrected = uncorrected,
                      .pending = pending != 0,
                      .failed = *failed != 0};
}

Answer<bool> Library::IsPageRetirementPending(DeviceHandle gpu) const {
  const auto pending = Ask<EnableState>(api_.DeviceGetRetiredPagesPendingStatus, gpu);
  if (!pending) return tl::unexpected(pending.error());
  return *pending == EnableState::kEnabled;
}

Answer<uint64_t> Library::ClockReasons(DeviceHandle gpu) const {
  return Ask<uint64_t>(api_.DeviceGetClocksEventReasons, gpu);
}

Answer<MemoryV2> Library::MemoryWithReserved(DeviceHandle gpu) const {
  MemoryV2 memory{.version = kMemoryVersion2, .total = 0, .reserved = 0, .free = 0, .used = 0};
  const Return code = api_.DeviceGetMemoryInfoV2.call(gpu, &memory);
  if (code == Return::kSuccess) return memory;
  return tl::unexpected(Failure{api_.DeviceGetMemoryInfoV2.name, code});
}

Answer<Utilization> Library::UtilizationOf(DeviceHandle gpu) const {
  return Ask<Utilization>(api_.DeviceGetUtilizationRates, gpu);
}

Answer<unsigned> Library::EncoderUtilization(DeviceHandle gpu) const {
  unsigned percent = 0;
  const auto period = Ask<unsigned>(api_.DeviceGetEncoderUtilization, gpu, &percent);
  return period.map([&](unsigned) { return percent; });
}

Answer<unsigned> Library::DecoderUtilization(DeviceHandle gpu) const {
  unsigned percent = 0;
  const auto period = Ask<unsigned>(api_.DeviceGetDecoderUtilization, gpu, &percent);
  return period.map([&](unsigned) { return percent; });
}

Answer<unsigned> Library::Temperature(DeviceHandle gpu) const {
  return Ask<unsigned>(api_.DeviceGetTemperature, gpu, TemperatureSensor::kGpu);
}

Answer<unsigned> Library::MemoryTemperature(DeviceHandle gpu) const {
  FieldValue value{};
  value.field = kMemoryTemperature;
  Return code = api_.DeviceGetFieldValues.call(gpu, 1, &value);
  if (code == Return::kSuccess) code = value.result;
  if (code == Return::kSuccess) return value.number;
  return tl::unexpected(Failure{api_.DeviceGetFieldValues.name, code});
}

Answer<unsigned> Library::Power(DeviceHandle gpu) const {
  return Ask<unsigned>(api_.DeviceGetPowerUsage, gpu);
}

Answer<uint64_t> Library::Energy(DeviceHandle gpu) const {
  return Ask<uint64_t>(api_.DeviceGetTotalEnergyConsumption, gpu);
}

Answer<unsigned> Library::Clock(DeviceHandle gpu, ClockType type) const {
  return Ask<unsigned>(api_.DeviceGetClockInfo, gpu, type);
}

Answer<unsigned> Library::PcieReplays(DeviceHandle gpu) const {
  return Ask<unsigned>(api_.DeviceGetPcieReplayCounter, gpu);
}

Answer<EventSetHandle> Library::MakeEventSet() const {
  return Ask<EventSetHandle>(api_.EventSetCreate);
}

void Library::FreeEventSet(EventSetHandle set) const {
  api_.EventSetFree.call(set);
}

Answer<uint64_t> Library::SupportedEvents(DeviceHandle gpu) const {
  return Ask<uint64_t>(api_.DeviceGetSupportedEventTypes, gpu);
}

Answer<void> Library::RegisterEvents(DeviceHandle gpu, uint64_t types, EventSetHandle set) const {
  const Return code = api_.DeviceRegisterEvents.call(gpu, types, set);
  if (code == Return::kSuccess) return {};
  return tl::unexpected(Failure{api_.DeviceRegisterEvents.name, code});
}

Answer<EventData> Library::AwaitEvent(EventSetHandle set, Duration patience) const {
  EventData event{};
  const Return code = api_.EventSetWait.call(set, &event, static_cast<unsigned>(patience.count()));
  if (code == Return::kSuccess) return event;
  return tl::unexpected(Failure{api_.EventSetWait.name, code});
}

std::string Library::Text(const Failure& failure) const {
  return TextOf(api_, failure);
}

std::vector<std::string> LibraryPaths(const os::Root& root, std::string_view driver_root,
                                      std::string_view soname) {
  return os::LibraryPaths(root, driver_root, kLibraryDirectories, {&soname, 1});
}

std::shared_ptr<Session> Session::Of(const os::Root& root, const std::string& driver_root) {
  static Mutex mutex;
  static std::map<std::vector<std::string>, std::weak_ptr<Session>> sessions TESSERA_GUARDED_BY(
      mutex);
  std::vector<std::string> paths = LibraryPaths(root, driver_root);
  const MutexLock lock(mutex);
  std::weak_ptr<Session>& known = sessions[paths];
  std::shared_ptr<Session> session = known.lock();
  if (session == nullptr) {
    known = session = std::make_shared<Session>(std::move(paths), root.Path("/sys/module/nvidia"));
  }
  return session;
}

namespace {
Result<LibraryPtr> Released() {
  return Fail(Reason::kReleased, "NVML was closed by 'tessera release'");
}
}  // namespace

Result<LibraryPtr> Session::Open() {
  {
    MutexLock lock(mutex_);
    if (!opened_.wait_for(lock, kPatience,
                          [this]() TESSERA_REQUIRES(mutex_) { return !opening_; })) {
      return Fail(Reason::kTimedOut, "NVML from {} does not start: the driver hangs",
                  Join(paths_, ", "));
    }
    if (released_) return Released();
    if (library_ != nullptr) return library_;
    opening_ = true;
  }
  // Outside the mutex, as the driver may hang here. opening_ keeps other threads from a second
  // call; they wait at most kPatience.
  Result<LibraryPtr> library = Library::Open(paths_);
  std::string driver;
  if (library) {
    driver = DriverBehind(**library);
    log::Info("NVML opened",
              {{"library", (*library)->path()},
               {"driver", (*library)->DriverVersion().value_or("of unknown version")}});
  }
  return Opened(std::move(library), std::move(driver));
}

Result<LibraryPtr> Session::Opened(Result<LibraryPtr> library, std::string driver) {
  const MutexLock lock(mutex_);
  opening_ = false;
  opened_.notify_all();
  if (!library) return library;
  std::erase_if(in_flight_, [](const auto& uses) { return uses->closed(); });
  in_flight_.push_back((*library)->in_flight());
  // Release may come while Open was in the driver. The caller's parameter closes the library after
  // the mutex is free.
  if (released_) return Released();
  library_ = *library;
  if (!driver.empty() && !driver_.empty() && driver != driver_) ++losses_;
  if (!driver.empty()) driver_ = std::move(driver);
  return library;
}

// Identifies the driver by its version and its load. Empty: it does not report a version.
std::string Session::DriverBehind(const Library& library) const {
  const auto version = library.DriverVersion();
  if (!version) return "";
  const auto module = os::Inspect(module_);
  return fmt::format("{} {}", *version, module ? module->inode : 0);
}

LibraryPtr Session::current() const {
  const MutexLock lock(mutex_);
  return library_;
}

bool Session::is_open() const {
  const MutexLock lock(mutex_);
  return library_ != nullptr;
}

void Session::Discard(const LibraryPtr& library) {
  LibraryPtr closed;  // destroyed after the lock: the last owner closes the library
  const MutexLock lock(mutex_);
  if (library_ != library || library == nullptr) return;
  closed = std::move(library_);
  ++losses_;
}

unsigned Session::losses() const {
  const MutexLock lock(mutex_);
  return losses_;
}

void Session::Release() {
  LibraryPtr closed;
  {
    const MutexLock lock(mutex_);
    released_ = true;
    closed = std::exchange(library_, nullptr);
  }
  // This may be the last owner, and closing a library may take any time. If no thread can start, it
  // is closed here.
  if (closed != nullptr) (void)os::StartThread([closed = std::move(closed)] {});
}

void Session::TakeUp() {
  const MutexLock lock(mutex_);
  released_ = false;
}

bool Session::is_released() const {
  const MutexLock lock(mutex_);
  return released_;
}

std::vector<std::string> Session::HeldBy() const {
  const MutexLock lock(mutex_);
  std::vector<std::string> held;
  if (opening_) held.emplace_back("the driver has not finished starting NVML");
  for (const auto& uses : in_flight_) {
    if (uses->closed()) continue;
    const std::set<unsigned> gpus = uses->gpus();
    if (gpus.empty()) held.emplace_back("a call about all GPUs has not returned");
    for (const unsigned gpu : gpus) {
      held.push_back(fmt::format("a call about GPU {} has not returned", gpu));
    }
  }
  return held;
}

}  // namespace tessera::nvml
