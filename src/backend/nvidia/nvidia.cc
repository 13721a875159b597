// SPDX-License-Identifier: Apache-2.0
#include "backend/nvidia/nvidia.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "backend/nvidia/core/claims.h"
#include "backend/nvidia/fraction/vgpu_trouble.h"
#include "base/log.h"

namespace tessera {
namespace {

constexpr Duration kPatience{2'000};  // the longest wait of a scan for GPUs
constexpr int kReaders = 64;          // more than a node has GPUs

nvidia::XidPolicy PolicyOf(const NvidiaConfig& config) {
  nvidia::XidPolicy policy;
  for (const NvidiaConfig::XidRule& rule : config.xids) {
    policy.classes[static_cast<uint64_t>(rule.xid)] = rule.xid_class;
  }
  policy.ignore_others = config.other_xids == nvidia::OtherXids::kIgnore;
  policy.count_all = config.other_xids == nvidia::OtherXids::kCount;
  policy.recover_probation = config.probation.recover;
  policy.reset_probation = config.probation.reset;
  return policy;
}

}  // namespace

NvidiaBackend::NvidiaBackend(std::string resource, NvidiaConfig config, os::Root root)
    : resource_(std::move(resource)),
      config_(std::move(config)),
      root_(std::move(root)),
      xids_(PolicyOf(config_)),
      session_(nvml::Session::Of(root_, config_.driver_root)),
      watcher_(nvidia::EventWatcher::Of(session_)),
      geometry_(nvidia::GeometryWatch::Of(session_)),
      losses_at_first_(session_->losses()),
      readers_(kReaders) {
  // Starts one reader thread now, while NVML is opened: a new thread takes as long as a reading of
  // all GPUs.
  readers_.Run([] {});
}

Status NvidiaBackend::Start(BackendEvents& events) {
  {
    const MutexLock lock(mutex_);
    events_ = &events;
  }
  geometry_->Subscribe(this, [this] {
    const MutexLock lock(mutex_);
    if (events_ != nullptr) events_->RescanSoon();
  });
  if (resource_ != config_.family) {  // a family's devices are judged by its resources
    watcher_->Subscribe(this, [this](const nvidia::Event& event) { OnEvent(event); });
  }
  return {};
}

void NvidiaBackend::Stop() {
  // Without the mutex, as the listeners take it while Unsubscribe waits for them.
  watcher_->Unsubscribe(this);
  geometry_->Unsubscribe(this);
  const MutexLock lock(mutex_);
  events_ = nullptr;
}

bool NvidiaBackend::Release() {
  session_->Release();
  return true;
}

void NvidiaBackend::TakeUp() {
  {
    const MutexLock lock(mutex_);
    // The driver may return with other GPUs, so the links are read again.
    levels_.clear();
    level_readings_.clear();
  }
  session_->TakeUp();
}

std::vector<std::string> NvidiaBackend::HeldBy() const {
  return session_->HeldBy();
}

Result<std::vector<Device>> NvidiaBackend::Scan() {
  const nvml::LibraryPtr library = TRY_IN(session_->Open(), resource_);
  const auto failed = [&](const nvml::Failure& failure) {
    if (nvml::IsOfDriver(failure)) session_->Discard(library);
    return Fail(Reason::kScanFailed, "{}: {}", resource_, library->Text(failure));
  };
  const nvml::Answer<unsigned> count = library->DeviceCount();
  if (!count) return failed(count.error());
  nvml::Answer<GpuReadings> seen = ReadGpus(library, *count);
  if (!seen) return failed(seen.error());
  auto& [gpus, silent] = *seen;

  std::map<std::string, nvidia::Levels> levels = ReadLevels(library, gpus);
  std::map<unsigned, std::string> answering;
  for (const auto& [index, gpu] : gpus) answering[index] = gpu.uuid;
  watcher_->Watch(std::move(answering));
  TellGeometry(*count, gpus);

  {
    const MutexLock lock(mutex_);
    for (const auto& [index, gpu] : gpus_) {
      const bool elsewhere = std::any_of(gpus.begin(), gpus.end(), [&gpu = gpu](const auto& other) {
        return other.second.uuid == gpu.uuid;
      });
      if (silent.contains(index) && !elsewhere) gpus[index] = gpu;
    }
    for (auto& [index, gpu] : gpus) {
      if (gpu.memory > 0) memory_[gpu.uuid] = gpu.memory;
      gpu.memory = memory_[gpu.uuid];  // a known size stays if a later call fails
    }
    gpus_ = gpus;
  }

  const std::map<unsigned, std::string> odd = nvidia::MisdividedGpus(config_, gpus);
  std::vector<Device> devices;
  for (unsigned i = 0; i < *count; ++i) {
    if (const auto gpu = gpus.find(i); gpu == gpus.end()) {
      if (!nvidia::MayBePartOf(config_, i)) continue;
      devices.push_back(nvidia::DescribeUnknown(resource_, i, silent[i]));
    } else if (const auto why = odd.find(i); why != odd.end()) {
      devices.push_back(nvidia::Describe(root_, resource_, config_, gpu->second));
      devices.back().defect = Error{Reason::kMigLayout, why->second};
    } else {
      AddDevices(gpu->second, gpus, levels[gpu->second.uuid], devices);
    }
  }
  RecordScan(devices);
  return devices;
}

// Fails only if the driver itself does.
nvml::Answer<NvidiaBackend::GpuReadings> NvidiaBackend::ReadGpus(const nvml::LibraryPtr& library,
                                                                 unsigned count) {
  std::vector<std::shared_ptr<GpuReading>> readings;
  nvidia::SerialQueue queue(readers_);
  for (unsigned i = 0; i < count; ++i) readings.push_back(BeginReading(library, i, queue));
  const auto limit = std::chrono::steady_clock::now() + kPatience;
  queue.Run(limit);

  GpuReadings seen;
  for (unsigned i = 0; i < count; ++i) {
    const auto answer = readings[i]->Await(limit);
    if (!answer) {
      seen.silent[i] = "it does not answer";
    } else if (*answer) {
      seen.gpus[i] = **answer;
    } else if (nvml::IsOfDriver(answer->error())) {
      return tl::unexpected(answer->error());
    } else {
      seen.silent[i] = library->Text(answer->error());
    }
  }
  return seen;
}

void NvidiaBackend::AddDevices(const nvidia::Gpu& gpu, const std::map<unsigned, nvidia::Gpu>& gpus,
                               const nvidia::Levels& levels, std::vector<Device>& devices) {
  const std::vector<Link> links = nvidia::LinksOf(gpu, gpus, levels);
  for (Device& device : nvidia::DevicesOfGpu(root_, resource_, config_, gpu)) {
    if (device.parent.empty()) {
      device.links = links;
      if (gpu.mig.enabled) TellWhole(gpu.uuid);
    }
    if (!device.defect) device.defect = nvidia::VgpuTrouble(config_, device);
    devices.push_back(std::move(device));
  }
}

void NvidiaBackend::TellWhole(const std::string& gpu) {
  const MutexLock lock(mutex_);
  if (!told_whole_.insert(gpu).second) return;
  log::Warn(
      "a GPU in MIG mode is offered as a whole; the container runtime decides what a container can "
      "use of it",
      {{"resource", resource_}, {"gpu", gpu}});
}

std::shared_ptr<NvidiaBackend::GpuReading> NvidiaBackend::BeginReading(
    const nvml::LibraryPtr& library, unsigned index, nvidia::SerialQueue& queue) {
  const MutexLock lock(mutex_);
  std::shared_ptr<GpuReading>& last = readings_[index];
  if (last != nullptr && !last->IsDone()) return last;  // it hangs, and one stuck thread is enough
  last = std::make_shared<GpuReading>();
  queue.Add([reading = last, library, root = root_, index, sized = config_.vgpu.on,
             untold = config_.memory_if_untold] {
    auto gpu = nvidia::Read(*library, root, index);
    if (gpu && sized) gpu->memory = nvidia::MemoryOf(*library, index, untold);
    reading->Finish(std::move(gpu));
  });
  return last;
}

// Reports what this scan has seen to the other backends.
void NvidiaBackend::TellGeometry(unsigned count, const std::map<unsigned, nvidia::Gpu>& gpus) {
  geometry_->ReportCount(this, count);
  for (const auto& [index, gpu] : gpus) {
    nvidia::Geometry geometry{.uuid = gpu.uuid, .mig_enabled = gpu.mig.enabled};
    for (const nvidia::MigDevice& mig : gpu.mig.devices) geometry.mig_uuids.push_back(mig.uuid);
    geometry_->ReportGeometry(this, index, std::move(geometry));
  }
}

std::map<std::string, nvidia::Levels> NvidiaBackend::ReadLevels(
    const nvml::LibraryPtr& library, const std::map<unsigned, nvidia::Gpu>& gpus) {
  nvidia::SerialQueue queue(readers_);
  std::map<std::string, std::shared_ptr<LevelReading>> readings;  // by UUID
  for (const auto& [index, gpu] : gpus) {
    const MutexLock lock(mutex_);
    std::map<std::string, unsigned> unknown;
    for (const auto& [other_index, other] : gpus) {
      // A pair's level is the same from both sides, so the lower index reads it.
      const bool known = other_index <= index || levels_[gpu.uuid].contains(other.uuid);
      if (!known) unknown[other.uuid] = other_index;
    }
    if (unknown.empty()) continue;
    std::shared_ptr<LevelReading>& last = level_readings_[gpu.uuid];
    if (last == nullptr || last->IsDone()) {
      last = std::make_shared<LevelReading>();
      queue.Add([reading = last, library, index = index, others = std::move(unknown)] {
        reading->Finish(nvidia::ReadLevels(*library, index, others));
      });
    }
    readings[gpu.uuid] = last;
  }
  const auto limit = std::chrono::steady_clock::now() + kPatience;
  queue.Run(limit);
  for (const auto& [uuid, reading] : readings) {
    const auto read = reading->Await(limit);
    const MutexLock lock(mutex_);
    if (!read) continue;
    for (const auto& [other, level] : *read) levels_[uuid][other] = levels_[other][uuid] = level;
  }
  const MutexLock lock(mutex_);
  return levels_;
}

}  // namespace tessera
