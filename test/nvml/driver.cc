// SPDX-License-Identifier: Apache-2.0
#include "nvml/driver.h"

#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <list>
#include <optional>
#include <shared_mutex>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#ifdef TESSERA_TSAN
#include <sanitizer/tsan_interface.h>
#endif

namespace tessera::nvml {
namespace {

using std::chrono::milliseconds;

#ifdef TESSERA_TSAN
// Orders a thread that unloads this library before a thread that loads it again. The loader's own
// lock does so too, but the sanitizer does not know it. Made first and destroyed last.
struct Loading {
  Loading() { __tsan_acquire(this); }
  ~Loading() { __tsan_release(this); }
} g_loading;
#endif

std::shared_mutex g_mutex;  // guards the globals below
// Not destroyed when the process ends: as with NVML, a thread may still be in a call.
struct Drivers {
  std::shared_ptr<Driver> current;
  std::vector<std::shared_ptr<Driver>> former;  // handles may still point into them
  std::list<OpaqueEventSet> event_sets;
};
union Kept {
  Kept() : drivers() {}
  ~Kept() {}  // NOLINT(modernize-use-equals-default): a default one would be deleted
  Drivers drivers;
} g_kept;
std::shared_ptr<Driver>& g_driver = g_kept.drivers.current;
int g_users = 0;
FileState g_read;  // the description's state when g_driver was made from it

std::string DescriptionPath() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): no thread changes it
  if (const char* path = getenv("TESSERA_FAKE_NVML")) return path;
  Dl_info info{};
  dladdr(reinterpret_cast<void*>(&DescriptionPath), &info);
  const std::string library = info.dli_fname == nullptr ? "" : info.dli_fname;
  return library.substr(0, library.rfind('/') + 1) + "fake-nvml.yaml";
}
std::string DirectoryOf(const std::string& path) {
  const size_t end = path.rfind('/');
  return end == std::string::npos ? "." : path.substr(0, end + 1);
}
// Looked up once, because every call needs it. A plain array leaves no memory behind when the
// library is unloaded.
struct Path {
  Path() { DescriptionPath().copy(text, sizeof text - 1); }
  char text[PATH_MAX] = {};
};
const Path kDescription;

// Null, with a line on stderr, if the description cannot be read.
std::shared_ptr<Driver> Load(std::shared_ptr<DirectoryChanges> changes) {
  const std::string path = kDescription.text;
  std::string text;
  try {
    if (!ReadText(path, text)) throw std::runtime_error("cannot be read");
    return std::make_shared<Driver>(ParseHardware(text), path, std::move(changes));
  } catch (const std::exception& error) {
    fprintf(stderr, "fake NVML: %s: %s\n", path.c_str(), error.what());
    return nullptr;
  }
}

// The error that the faults order for a call; a fault of the whole driver comes first.
Return FailureOf(const Faults& faults, const std::string& function, std::optional<unsigned> gpu) {
  const Return failure = faults.driver.FailureOf(function);
  if (failure != Return::kSuccess || !gpu) return failure;
  return faults.Of(*gpu).calls.FailureOf(function);
}

bool Hang(const Faults& faults, const std::string& function, std::optional<unsigned> gpu) {
  return faults.driver.Hangs(function) || (gpu && faults.Of(*gpu).calls.Hangs(function));
}

// Delays the call and lets it hang, as the faults order. The error is that of the faults at the
// call's begin: their end releases a hang, and must not turn the error into a success.
Begun Endure(std::shared_ptr<Driver> driver, const char* function, std::optional<unsigned> gpu) {
  std::shared_ptr<const Faults> faults = driver->faults.Now();
  const CallFaults* of_gpu = gpu ? &faults->Of(*gpu).calls : nullptr;
  if (faults->driver.none() && (of_gpu == nullptr || of_gpu->none())) {
    return {Return::kSuccess, std::move(driver), std::move(faults)};
  }
  const int of_gpu_ms = of_gpu == nullptr ? 0 : of_gpu->slow_ms;
  const Return failure = FailureOf(*faults, function, gpu);
  std::this_thread::sleep_for(milliseconds(faults->driver.slow_ms + of_gpu_ms));
  while (Hang(*faults, function, gpu)) {
    std::this_thread::sleep_for(milliseconds(1));
    faults = driver->faults.Now();
  }
  return {failure, std::move(driver), std::move(faults)};
}

}  // namespace

Driver::Driver(Hardware node, const std::string& path,
               std::shared_ptr<DirectoryChanges> in_its_directory)
    : hardware(std::move(node)),
      changes(std::move(in_its_directory)),
      description(path, changes),
      faults(path + ".faults", changes) {
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
  // The usual case: the handle was made from this Driver.
  if (device.mig == nullptr && device.index < hardware.gpus.size() &&
      device.gpu == &hardware.gpus[device.index]) {
    return device.index;
  }
  const auto gpu = std::ranges::find(hardware.gpus, device.gpu->uuid, &HardwareGpu::uuid);
  if (gpu == hardware.gpus.end()) return std::nullopt;
  const bool there = device.mig == nullptr ||
                     std::ranges::count(gpu->mig, device.mig->uuid, &MigInstance::uuid) > 0;
  if (!there) return std::nullopt;
  return static_cast<size_t>(gpu - hardware.gpus.begin());
}

std::shared_ptr<Driver> Current() {
  std::shared_ptr<Driver> driver;
  FileState read;
  {
    std::shared_lock lock(g_mutex);
    if (g_users == 0) return nullptr;
    driver = g_driver;
    read = g_read;
  }
  // The file is checked without the mutex, which every call takes.
  const FileState now = driver->description.Now();
  if (now == read || now == FileState()) return driver;
  std::lock_guard lock(g_mutex);
  if (g_users == 0) return nullptr;
  if (g_driver != driver || g_read != read) return g_driver;  // another thread has just read it
  g_read = driver->description.Now();
  if (auto next = Load(driver->changes)) {
    g_kept.drivers.former.push_back(std::exchange(g_driver, std::move(next)));
  }
  return g_driver;
}

Return Open() {
  auto driver = Current();
  const auto changes = driver != nullptr
                           ? driver->changes
                           : std::make_shared<DirectoryChanges>(DirectoryOf(kDescription.text));
  const FileState read = WatchedFile(kDescription.text, changes).Now();
  if (driver == nullptr) driver = Load(changes);
  if (driver == nullptr) return Return::kDriverNotLoaded;
  const Begun begun = Endure(std::move(driver), "nvmlInit_v2", std::nullopt);
  if (begun.failure != Return::kSuccess) return begun.failure;
  std::lock_guard lock(g_mutex);
  if (g_users++ == 0) {
    g_driver = begun.driver;
    g_read = read;
  }
  return Return::kSuccess;
}

Return Close() {
  std::lock_guard lock(g_mutex);
  if (g_users == 0) return Return::kUninitialized;
  // Frees all memory, the vector's too: the library may now be unloaded.
  if (--g_users == 0) {
    g_driver.reset();
    g_kept.drivers.former = std::vector<std::shared_ptr<Driver>>();
  }
  return Return::kSuccess;
}

EventSetHandle NewEventSet() {
  std::lock_guard lock(g_mutex);
  return &g_kept.drivers.event_sets.emplace_back();
}

void Free(EventSetHandle set) {
  std::lock_guard lock(g_mutex);
  g_kept.drivers.event_sets.remove_if([&](const OpaqueEventSet& one) { return &one == set; });
}

Begun Begin(const char* function) {
  auto driver = Current();
  if (driver == nullptr) return {Return::kUninitialized, nullptr, nullptr};
  return Endure(std::move(driver), function, std::nullopt);
}

Begun BeginOn(const char* function, DeviceHandle device) {
  auto driver = Current();
  if (driver == nullptr) return {Return::kUninitialized, nullptr, nullptr};
  if (device == nullptr) return {Return::kInvalidArgument, nullptr, nullptr};
  Begun begun = Endure(std::move(driver), function, device->index);
  if (begun.failure == Return::kSuccess && !begun.driver->PlaceOf(*device)) {
    begun.failure = Return::kNotFound;
  }
  return begun;
}

}  // namespace tessera::nvml
