// SPDX-License-Identifier: Apache-2.0
#include "amd/node.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "amd/events.h"
#include "amd/state.h"
#include "amd/tree.h"
#include "os/files.h"

namespace tessera::amd {
namespace {

constexpr std::array<std::string_view, 6> kUsualBlocks = {"umc",   "sdma",      "gfx",
                                                          "mmhub", "xgmi_wafl", "pcie_bif"};
constexpr std::array<std::string_view, 11> kOtherBlocks = {
    "athub", "hdp", "df", "smn", "sem", "mp0", "mp1", "fuse", "mca", "vcn", "jpeg"};

// As after the driver was loaded. The errors of the memory are kept in the GPU.
void ResetRas(GpuState& gpu) {
  for (auto& [block, counts] : gpu.ras) {
    if (block != "umc") counts = {0, 0};
  }
}

}  // namespace

int Partitions(const SimGpu& gpu) {
  const auto mode =
      std::ranges::find(gpu.computes, gpu.compute, &std::pair<std::string, int>::first);
  return mode == gpu.computes.end() ? 1 : mode->second;
}

bool NodeState::IsDriven(size_t gpu) const {
  return has_driver && node.gpus[gpu].driver == "amdgpu" && !gpus[gpu].is_absent;
}

bool NodeState::InKfd(size_t gpu) const {
  return IsDriven(gpu) && !gpus[gpu].is_lost;
}

bool NodeState::Lacks(size_t gpu, int partition) const {
  return std::ranges::count(node.lacks, fmt::format("{}/{}", gpu, partition)) > 0;
}

struct AmdNode::Impl {
  enum class Driver : bool { kStays, kLoadedAgain };

  Impl(std::string of, SimNode node) : directory(std::move(of)) {
    state.node = std::move(node);
    for (const SimGpu& gpu : state.node.gpus) {
      GpuState& added = state.gpus.emplace_back();
      if (!gpu.has_ras) continue;
      for (std::string_view block : kUsualBlocks) added.ras[std::string(block)] = {0, 0};
    }
  }

  const std::string directory;
  NodeState state;
  bool is_past = false;  // the files have the changes already
  Tree devices;
  Tree topology;
  uint64_t written_generation = 0;  // 0: no topology
  uint64_t resets = 0;

  SimGpu& Gpu(size_t gpu) {
    if (gpu >= state.gpus.size()) throw BadChange(fmt::format("there is no GPU {}", gpu));
    return state.node.gpus[gpu];
  }
  GpuState& StateOf(size_t gpu) {
    Gpu(gpu);
    return state.gpus[gpu];
  }
  std::vector<Partition> WantedInKfd(size_t gpu) const {
    std::vector<Partition> wanted;
    if (!state.InKfd(gpu)) return wanted;
    for (int index = 0; index < Partitions(state.node.gpus[gpu]); ++index) {
      if (!state.Lacks(gpu, index)) wanted.push_back({gpu, index});
    }
    return wanted;
  }
  // The GPU's nodes go, and come last if they come again.
  void RenewKfd(Driver driver) {
    bool is_changed = driver == Driver::kLoadedAgain;
    if (is_changed) state.kfd.clear();
    for (size_t gpu = 0; gpu < state.gpus.size(); ++gpu) {
      const std::vector<Partition> wanted = WantedInKfd(gpu);
      std::vector<Partition> had;
      for (const Partition& one : state.kfd) {
        if (one.gpu == gpu) had.push_back(one);
      }
      if (had == wanted) continue;
      std::erase_if(state.kfd, [gpu](const Partition& one) { return one.gpu == gpu; });
      state.kfd.insert(state.kfd.end(), wanted.begin(), wanted.end());
      is_changed = true;
    }
    if (is_changed) state.generation += 2;
  }
  void Write(Driver driver = Driver::kStays) {
    RenewKfd(driver);
    if (is_past) return;
    const uint64_t generation = state.has_driver ? state.generation : 0;
    const bool is_changed = generation != written_generation;
    const std::string path = directory + kGenerationPath;
    if (is_changed && generation == 0) (void)os::RemoveFile(path);
    // A reader that sees the same number before and after it has read all nodes saw one state.
    if (is_changed && generation != 0 && written_generation != 0) {
      ReplaceLine(path, std::to_string(generation - 1));
    }
    WriteDevices();
    if (!is_changed) return;
    Tree next = Topology(state);
    next.Replace(topology, directory);
    topology = std::move(next);
    if (generation != 0) ReplaceLine(path, std::to_string(generation));
    written_generation = generation;
  }
  void WriteDevices() {
    Tree next = DeviceFiles(state);
    next.Replace(devices, directory);
    devices = std::move(next);
  }
  // A stream that nobody reads tells nothing.
  void Tell(const Partition& of, const std::string& line) const {
    const uint32_t gpu_id = state.node.gpus[of.gpu].gpu_id + static_cast<uint32_t>(of.index);
    if (!is_past) tessera::amd::TellEvent(directory, gpu_id, line);
  }
  void TellAll(size_t gpu, const std::string& line) const {
    for (const Partition& one : state.kfd) {
      if (one.gpu == gpu) Tell(one, line);
    }
  }
  void ReturnToPresent() {
    is_past = false;
    devices = DeviceFiles(state);
    topology = Topology(state);
    written_generation = state.has_driver ? state.generation : 0;
  }
};

AmdNode::AmdNode(std::string directory, SimNode node)
    : impl_(std::make_unique<Impl>(std::move(directory), std::move(node))) {
  impl_->Write();
}

AmdNode::AmdNode(std::string directory, SimNode node, const std::function<void(AmdNode&)>& past)
    : impl_(std::make_unique<Impl>(std::move(directory), std::move(node))) {
  impl_->is_past = true;
  impl_->Write();
  past(*this);
  impl_->ReturnToPresent();
}

AmdNode::AmdNode(AmdNode&&) noexcept = default;
AmdNode::~AmdNode() = default;

void AmdNode::SetCompute(size_t gpu, const std::string& mode) {
  SimGpu& of = impl_->Gpu(gpu);
  if (std::ranges::count(of.computes, mode, &std::pair<std::string, int>::first) == 0) {
    throw BadChange(fmt::format("GPU {} has no compute partition {}", gpu, mode));
  }
  of.compute = mode;
  impl_->Write();
}

void AmdNode::SetMemoryMode(const std::string& mode) {
  const auto has = [&](const SimGpu& gpu) {
    return std::ranges::count(gpu.memory_modes, mode) > 0;
  };
  if (!std::ranges::all_of(impl_->state.node.gpus, has)) {
    throw BadChange("not every GPU has the memory partition " + mode);
  }
  for (SimGpu& gpu : impl_->state.node.gpus) gpu.memory_mode = mode;
  for (GpuState& gpu : impl_->state.gpus) ResetRas(gpu);
  impl_->Write(Impl::Driver::kLoadedAgain);
}

void AmdNode::Lose(size_t gpu) {
  impl_->StateOf(gpu).is_lost = true;
  impl_->Write();
}

void AmdNode::Unplug(size_t gpu) {
  impl_->StateOf(gpu).is_absent = true;
  impl_->Write();
}

void AmdNode::Return(size_t gpu) {
  GpuState& state = impl_->StateOf(gpu);
  if (state.is_lost || state.is_absent) ResetRas(state);
  state.is_lost = state.is_absent = false;
  impl_->Write();
}

void AmdNode::SetRas(size_t gpu, const std::string& block, uint64_t uncorrected,
                     uint64_t corrected) {
  GpuState& state = impl_->StateOf(gpu);
  if (!impl_->Gpu(gpu).has_ras) throw BadChange(fmt::format("GPU {} counts no errors", gpu));
  if (!state.ras.contains(block) && std::ranges::count(kOtherBlocks, block) == 0) {
    throw BadChange("there is no block " + block);
  }
  state.ras[block] = {uncorrected, corrected};
  impl_->Write();
}

void AmdNode::BeginReset(size_t gpu) {
  impl_->StateOf(gpu).is_resetting = true;
  impl_->Write();
  impl_->TellAll(gpu, fmt::format("3 {:x}", ++impl_->resets));
}

void AmdNode::EndReset(size_t gpu) {
  if (!std::exchange(impl_->StateOf(gpu).is_resetting, false)) {
    throw BadChange(fmt::format("GPU {} is not being reset", gpu));
  }
  impl_->Write();
  impl_->TellAll(gpu, fmt::format("4 {:x}", impl_->resets));
}

void AmdNode::TellEvent(size_t gpu, const std::string& line) {
  impl_->StateOf(gpu);
  impl_->Tell({.gpu = gpu}, line);
}

void AmdNode::SetBusy(size_t gpu, int percent) {
  impl_->StateOf(gpu).busy = percent;
  impl_->Write();
}

void AmdNode::SetMemoryUsed(size_t gpu, uint64_t bytes) {
  impl_->StateOf(gpu).memory_used = bytes;
  impl_->Write();
}

void AmdNode::SetTemperature(size_t gpu, int celsius) {
  impl_->StateOf(gpu).celsius = celsius;
  impl_->Write();
}

void AmdNode::SetDriver(size_t gpu, const std::string& driver) {
  SimGpu& of = impl_->Gpu(gpu);
  if (of.driver == driver) return;
  of.driver = driver;
  ResetRas(impl_->StateOf(gpu));
  impl_->Write();
}

void AmdNode::RemoveDriver() {
  impl_->state.has_driver = false;
  impl_->Write();
}

void AmdNode::InstallDriver() {
  if (impl_->state.has_driver) return;
  impl_->state.has_driver = true;
  for (GpuState& gpu : impl_->state.gpus) ResetRas(gpu);
  impl_->Write(Impl::Driver::kLoadedAgain);
}

const SimNode& AmdNode::node() const {
  return impl_->state.node;
}

}  // namespace tessera::amd
