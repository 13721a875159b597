// SPDX-License-Identifier: Apache-2.0
#include "mps/gpus.h"

#include <chrono>
#include <future>
#include <memory>
#include <utility>

#include "backend/nvidia/gpu.h"
#include "backend/nvidia/nvml.h"
#include "backend/nvidia/platform.h"
#include "os/thread.h"

namespace tessera::mps {
namespace {

constexpr uint64_t kMiB = 1024 * 1024;
constexpr std::chrono::seconds kPatience{3};  // with GPUs that do not answer

// What the resource has of the GPU of this index.
std::vector<Found> Read(const nvml::Library& library, const os::Root& root,
                        const std::string& resource, const NvidiaConfig& config, unsigned index) {
  std::vector<Found> found;
  const auto gpu = nvidia::Read(library, root, index);
  if (!gpu || nvidia::IsDisplay(*gpu)) return found;
  const nvml::Use use(library, index);
  const auto handle = library.DeviceByIndex(index);
  if (!handle) return found;
  const auto memory = library.MemoryOf(*handle);
  const auto capability = library.ComputeCapabilityOf(*handle);
  if (!capability) return found;
  for (const Device& device : nvidia::DevicesOf(root, resource, config, *gpu)) {
    found.push_back({.id = device.key.id,
                     .index = index,
                     .model = gpu->model,
                     .memory_mib = memory ? memory->total / kMiB : 0,
                     .capability = capability->major * 10 + capability->minor,
                     .is_mig = !device.parent.empty()});
  }
  return found;
}

// Of all GPUs, each read on a thread of its own: one that hangs is left out.
std::vector<Found> ReadAll(const nvml::LibraryPtr& library, const os::Root& root,
                           const config::Resource& resource, unsigned count) {
  using Promise = std::promise<std::vector<Found>>;
  const auto limit = std::chrono::steady_clock::now() + kPatience;
  std::vector<std::future<std::vector<Found>>> answers;
  for (unsigned index = 0; index < count; ++index) {
    auto promise = std::make_shared<Promise>();
    auto answer = promise->get_future();
    const Status started = os::StartThread([=, name = resource.name, kind = resource.kind] {
      promise->set_value(Read(*library, root, name, *kind.As<NvidiaConfig>(), index));
    });
    if (started) answers.push_back(std::move(answer));
  }
  std::vector<Found> found;
  for (auto& answer : answers) {
    if (answer.wait_until(limit) != std::future_status::ready) continue;
    for (Found& each : answer.get()) found.push_back(std::move(each));
  }
  return found;
}

}  // namespace

Result<Sizes> SizesNow(const config::Resource& resource, const os::Root& root) {
  const NvidiaConfig& config = *resource.kind.As<NvidiaConfig>();
  if (nvidia::HasDxCore(root, config.driver_root) ||
      nvidia::HasTegraFiles(root, config.driver_root)) {
    return Fail(Reason::kMpsUnfit, "there is no MPS on WSL and Tegra");
  }
  const nvml::LibraryPtr library = TRY(nvml::Session::Of(root, config.driver_root)->Open());
  const auto count = library->DeviceCount();
  if (!count) return Fail(Reason::kScanFailed, "{}", library->Text(count.error()));
  const std::vector<Found> found = ReadAll(library, root, resource, *count);
  return SizesFor(resource.policy.replicas, config.mps, found, *count);
}

}  // namespace tessera::mps
