// SPDX-License-Identifier: Apache-2.0
#include "mps/sizes.h"

#include <fmt/core.h>

#include <algorithm>

#include "backend/nvidia/core/claims.h"
#include "backend/nvidia/mps/config.h"
#include "base/text.h"

namespace tessera::mps {
namespace {

using Config = NvidiaConfig::Mps;

constexpr int kVolta = 70;
constexpr int kMostBeforeVolta = 16;

bool Fits(const Config::Size& size, const FoundDevice& gpu) {
  return nvidia::Fits({.index = size.index, .uuid = size.uuid, .model = size.model},
                      {.index = gpu.index, .uuid = gpu.id, .model = gpu.model});
}

int MemoryOf(int replicas, const Config& config, const FoundDevice& gpu) {
  const auto size =
      std::ranges::find_if(config.sizes, [&](const Config::Size& each) { return Fits(each, gpu); });
  if (size != config.sizes.end()) return size->memory;
  if (config.memory > 0) return config.memory;
  return static_cast<int>(gpu.memory_mib / static_cast<uint64_t>(std::max(replicas, 1)));
}

// Why MPS cannot share the device; empty: it can.
std::string Refusal(int replicas, const FoundDevice& gpu) {
  if (gpu.is_mig) return "MPS shares whole GPUs, and this is a MIG device";
  const int most = MostClients(gpu.capability);
  if (replicas <= most) return "";
  return fmt::format(
      "MPS serves at most {} clients on a GPU of compute capability {}.{}, and "
      "'replicas' is {}",
      most, gpu.capability / 10, gpu.capability % 10, replicas);
}

}  // namespace

int MostClients(int capability) {
  return capability < kVolta ? kMostBeforeVolta : nvidia::kMostMpsClients;
}

Sizes SizesFor(int replicas, const Config& config, std::span<const FoundDevice> found,
               size_t gpus_of_node) {
  Sizes sizes{.threads = config.threads > 0 ? config.threads : 100 / std::max(replicas, 1)};
  std::vector<const FoundDevice*> shared;
  for (const FoundDevice& gpu : found) {
    std::string why = Refusal(replicas, gpu);
    if (why.empty()) {
      shared.push_back(&gpu);
    } else {
      sizes.refused[gpu.id] = std::move(why);
    }
  }
  std::ranges::sort(shared, {}, [](const FoundDevice* gpu) { return gpu->index; });
  for (const FoundDevice* gpu : shared) {
    sizes.gpus.push_back({gpu->id, MemoryOf(replicas, config, *gpu)});
  }
  sizes.all_of_node = sizes.gpus.size() == gpus_of_node;
  return sizes;
}

std::string VisibleDevices(const Sizes& sizes) {
  if (sizes.all_of_node) return "";
  std::vector<std::string> uuids;
  for (const Sizes::Gpu& gpu : sizes.gpus) uuids.push_back(gpu.uuid);
  return Join(uuids, ",");
}

std::vector<std::string> Commands(const Sizes& sizes) {
  std::vector<std::string> commands;
  for (size_t i = 0; i < sizes.gpus.size(); ++i) {
    if (sizes.gpus[i].memory == 0) continue;
    commands.push_back(
        fmt::format("set_default_device_pinned_mem_limit {} {}M", i, sizes.gpus[i].memory));
  }
  commands.push_back(fmt::format("set_default_active_thread_percentage {}", sizes.threads));
  return commands;
}

bool Agree(int threads, const std::map<std::string, int>& served, const Sizes& sizes) {
  for (const auto& [gpu, memory] : served) {
    if (sizes.elsewhere.contains(gpu)) return false;
  }
  bool any = false;
  for (const Sizes::Gpu& gpu : sizes.gpus) {
    const auto told = served.find(gpu.uuid);
    if (told == served.end()) continue;
    if (told->second != gpu.memory) return false;
    any = true;
  }
  return any && threads == sizes.threads;
}

}  // namespace tessera::mps
