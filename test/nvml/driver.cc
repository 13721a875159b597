// SPDX-License-Identifier: Apache-2.0
#include "nvml/driver.h"

#include <dlfcn.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>
#include <thread>

namespace tessera::nvml {
namespace {

using std::chrono::milliseconds;

std::mutex g_mutex;  // guards what follows
// Not destroyed when the process ends: as with NVML, a thread may be in a call even then.
union Kept {
  Kept() : driver() {}
  ~Kept() {}  // NOLINT(modernize-use-equals-default): a default one would be deleted
  std::shared_ptr<Driver> driver;
} g_kept;
std::shared_ptr<Driver>& g_driver = g_kept.driver;
int g_users = 0;

std::string DescriptionPath() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody sets it meanwhile
  if (const char* path = getenv("TESSERA_FAKE_NVML")) return path;
  Dl_info info{};
  dladdr(reinterpret_cast<void*>(&DescriptionPath), &info);
  const std::string library = info.dli_fname == nullptr ? "" : info.dli_fname;
  return library.substr(0, library.rfind('/') + 1) + "fake-nvml.yaml";
}

// Null when there is no such description.
std::shared_ptr<Driver> Load() {
  const std::string path = DescriptionPath();
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  try {
    if (!file) throw std::runtime_error("cannot be read");
    return std::make_shared<Driver>(ParseHardware(text.str()), path + ".faults");
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

Driver::Driver(Hardware node, std::string fault_path)
    : hardware(std::move(node)), faults(std::move(fault_path)) {
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

std::shared_ptr<Driver> Current() {
  std::lock_guard lock(g_mutex);
  return g_users > 0 ? g_driver : nullptr;
}

Return Open() {
  auto driver = Current();
  if (driver == nullptr) driver = Load();
  if (driver == nullptr) return Return::kDriverNotLoaded;
  auto faults = driver->faults.Now();
  const Return failure = Endure(*driver, "nvmlInit_v2", std::nullopt, faults);
  if (failure != Return::kSuccess) return failure;
  std::lock_guard lock(g_mutex);
  if (g_users++ == 0) g_driver = driver;
  return Return::kSuccess;
}

Return Close() {
  std::lock_guard lock(g_mutex);
  if (g_users == 0) return Return::kUninitialized;
  if (--g_users == 0) g_driver = nullptr;
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
  return failure == Return::kSuccess ? answer(faults->Of(device->index)) : failure;
}

}  // namespace tessera::nvml
