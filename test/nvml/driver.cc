// SPDX-License-Identifier: Apache-2.0
#include "nvml/driver.h"

#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>
#include <thread>
#include <utility>
#include <vector>

#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif

namespace tessera::nvml {
namespace {

using std::chrono::milliseconds;

#ifdef __SANITIZE_THREAD__
// The thread that loads this library again runs after the one that unloaded it: the loader sees to
// that, with a lock the sanitizer does not know of. First to be made and last to go.
struct Loading {
  Loading() { __tsan_acquire(this); }
  ~Loading() { __tsan_release(this); }
} g_loading;
#endif

std::mutex g_mutex;  // guards what follows
// Not destroyed when the process ends: as with NVML, a thread may be in a call even then.
struct Drivers {
  std::shared_ptr<Driver> current;
  std::vector<std::shared_ptr<Driver>> former;  // handles may still point into them
};
union Kept {
  Kept() : drivers() {}
  ~Kept() {}  // NOLINT(modernize-use-equals-default): a default one would be deleted
  Drivers drivers;
} g_kept;
std::shared_ptr<Driver>& g_driver = g_kept.drivers.current;
int g_users = 0;
FileState g_read;  // the description, when g_driver was made of it

std::string DescriptionPath() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody sets it meanwhile
  if (const char* path = getenv("TESSERA_FAKE_NVML")) return path;
  Dl_info info{};
  dladdr(reinterpret_cast<void*>(&DescriptionPath), &info);
  const std::string library = info.dli_fname == nullptr ? "" : info.dli_fname;
  return library.substr(0, library.rfind('/') + 1) + "fake-nvml.yaml";
}
// Looked up once, for every call asks for it; memory of which nothing is left when this is
// unloaded.
struct Path {
  Path() { DescriptionPath().copy(text, sizeof text - 1); }
  char text[PATH_MAX] = {};
};
const Path kDescription;

// Null when there is no such description.
std::shared_ptr<Driver> Load() {
  const std::string path = kDescription.text;
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  try {
    if (!file) throw std::runtime_error("cannot be read");
    return std::make_shared<Driver>(ParseHardware(text.str()), path);
  } catch (const std::exception& error) {
    fprintf(stderr, "fake NVML: %s: %s\n", path.c_str(), error.what());
    return nullptr;
  }
}

// Takes the time that the faults want, and says how the call fails, if so. `faults` are those it
// was made under, and become those it ends under.
Return Endure(Driver& driver, const std::string& function, std::optional<unsigned> gpu,
              std::shared_ptr<const Faults>& faults) {
  const auto begun = faults;
  const CallFaults& of_gpu = gpu ? begun->Of(*gpu).calls : CallFaults();
  std::this_thread::sleep_for(milliseconds(begun->driver.slow_ms + of_gpu.slow_ms));
  while (faults->driver.Hangs(function) || (gpu && faults->Of(*gpu).calls.Hangs(function))) {
    std::this_thread::sleep_for(milliseconds(1));
    faults = driver.faults.Now();
  }
  const Return failure = begun->driver.FailureOf(function);
  return failure != Return::kSuccess ? failure : of_gpu.FailureOf(function);
}

}  // namespace

Driver::Driver(Hardware node, const std::string& description)
    : hardware(std::move(node)), faults(description + ".faults") {
  for (const HardwareGpu& gpu : hardware.gpus) {
    const auto index = static_cast<unsigned>(gpus.size());
    gpus.push_back({index, &gpu, nullptr});
    std::deque<OpaqueDevice>& instances = migs.emplace_back();
    std::deque<OpaqueGpuInstance>& parents = gpu_instances.emplace_back();
    for (const MigInstance& mig : gpu.mig) {
      instances.push_back({index, &gpu, &mig});
      parents.push_back({&gpus.back(), &mig});
    }
  }
}

std::optional<size_t> Driver::PlaceOf(const OpaqueDevice& device) const {
  const auto gpu = std::ranges::find(hardware.gpus, device.gpu->uuid, &HardwareGpu::uuid);
  if (gpu == hardware.gpus.end()) return std::nullopt;
  const bool there = device.mig == nullptr ||
                     std::ranges::count(gpu->mig, device.mig->uuid, &MigInstance::uuid) > 0;
  if (!there) return std::nullopt;
  return static_cast<size_t>(gpu - hardware.gpus.begin());
}

std::shared_ptr<Driver> Current() {
  const FileState before = StateOf(kDescription.text);  // without the mutex, which all threads take
  std::lock_guard lock(g_mutex);
  if (g_users == 0) return nullptr;
  if (before == g_read) return g_driver;
  const FileState now = StateOf(kDescription.text);
  if (now == g_read || now == FileState()) return g_driver;
  g_read = now;
  if (auto next = Load()) g_kept.drivers.former.push_back(std::exchange(g_driver, std::move(next)));
  return g_driver;
}

Return Open() {
  auto driver = Current();
  const FileState read = StateOf(kDescription.text);
  if (driver == nullptr) driver = Load();
  if (driver == nullptr) return Return::kDriverNotLoaded;
  auto faults = driver->faults.Now();
  const Return failure = Endure(*driver, "nvmlInit_v2", std::nullopt, faults);
  if (failure != Return::kSuccess) return failure;
  std::lock_guard lock(g_mutex);
  if (g_users++ == 0) {
    g_driver = driver;
    g_read = read;
  }
  return Return::kSuccess;
}

Return Close() {
  std::lock_guard lock(g_mutex);
  if (g_users == 0) return Return::kUninitialized;
  // With all memory: the library may be unloaded.
  if (--g_users == 0) g_kept.drivers = Drivers();
  return Return::kSuccess;
}

Return Serve(const char* function, const std::function<Return(Driver&)>& answer) {
  const auto driver = Current();
  if (driver == nullptr) return Return::kUninitialized;
  auto faults = driver->faults.Now();
  const Return failure = Endure(*driver, function, std::nullopt, faults);
  return failure == Return::kSuccess ? answer(*driver) : failure;
}

Return ServeDevice(const char* function, DeviceHandle device,
                   const std::function<Return(const GpuFaults&)>& answer) {
  const auto driver = Current();
  if (driver == nullptr) return Return::kUninitialized;
  if (device == nullptr) return Return::kInvalidArgument;
  auto faults = driver->faults.Now();
  const Return failure = Endure(*driver, function, device->index, faults);
  if (failure != Return::kSuccess) return failure;
  if (!driver->PlaceOf(*device)) return Return::kNotFound;
  return answer(faults->Of(device->index));
}

}  // namespace tessera::nvml
