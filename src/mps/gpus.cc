// SPDX-License-Identifier: Apache-2.0
#include "mps/gpus.h"

#include "backend/nvidia/gpu.h"
#include "backend/nvidia/nvml.h"
#include "backend/nvidia/platform.h"

namespace tessera::mps {
namespace {

constexpr uint64_t kMiB = 1024 * 1024;

// What the resource has of the GPU of this index.
void AddFound(const nvml::Library& library, const os::Root& root, const std::string& resource,
              const NvidiaConfig& config, unsigned index, std::vector<Found>& found) {
  const auto gpu = nvidia::Read(library, root, index);
  if (!gpu || nvidia::IsDisplay(*gpu)) return;
  const nvml::Use use(library, index);
  const auto handle = library.DeviceByIndex(index);
  if (!handle) return;
  const auto memory = library.MemoryOf(*handle);
  const auto capability = library.ComputeCapabilityOf(*handle);
  if (!capability) return;
  for (const Device& device : nvidia::DevicesOf(root, resource, config, *gpu)) {
    found.push_back({.id = device.key.id,
                     .index = index,
                     .model = gpu->model,
                     .memory_mib = memory ? memory->total / kMiB : 0,
                     .capability = capability->major * 10 + capability->minor,
                     .is_mig = !device.parent.empty()});
  }
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
  std::vector<Found> found;
  for (unsigned index = 0; index < *count; ++index) {
    AddFound(*library, root, resource.name, config, index, found);
  }
  return SizesFor(resource.policy.replicas, config.mps, found, *count);
}

}  // namespace tessera::mps
