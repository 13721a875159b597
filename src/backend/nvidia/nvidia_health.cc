// SPDX-License-Identifier: Apache-2.0
// The health of devices: checks, events, resets.
#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "backend/nvidia/nvidia.h"
#include "base/log.h"

namespace tessera {
namespace {

bool Fits(unsigned named, unsigned instance) {
  return named == nvml::kNoInstance || named == instance;
}

std::string InstanceText(unsigned instance) {
  return instance == nvml::kNoInstance ? "all" : fmt::format("{}", instance);
}

}  // namespace

Evidence NvidiaBackend::Check(const Device& device) {
  if (device.defect) {
    return nvidia::FromCheck(EvidenceKind::kBad, device.defect->reason, device.defect->message);
  }
  // Read before the library. If the driver returns in between, the next check sees the loss.
  const unsigned losses = session_->losses();
  const nvml::LibraryPtr library = session_->current();
  if (library == nullptr) {
    return session_->is_released() ? nvidia::FromCheck(EvidenceKind::kUnknown, Reason::kReleased,
                                                       "NVML was closed by 'tessera release'")
                                   : nvidia::FromCheck(EvidenceKind::kUnknown,
                                                       Reason::kDriverMissing, "NVML is not open");
  }
  const std::optional<DeviceLocation> location = Find(device.key.id);
  if (!location)
    return nvidia::FromCheck(EvidenceKind::kFatal, Reason::kVanished, "NVML does not list it");
  nvidia::Condition condition;
  Evidence evidence = CheckLocated(library, *location, device.key.id, condition);
  bool was_reset = false;
  {
    const MutexLock lock(mutex_);
    DeviceHistory& history = HistoryOf(device.key.id);
    history.gpu = location->uuid;
    if (evidence.kind != EvidenceKind::kGood) {
      history.lost |= evidence.reason == Reason::kDeviceLost;
      return evidence;
    }
    was_reset = WasReset(history, condition, losses);
    if (was_reset) TellReset(device.key, location->uuid);
    TellSlowdowns(location->uuid, condition.slowdowns);
    const nvidia::Condition before = history.condition.value_or(condition);
    if (auto trouble = nvidia::TroubleOf(before, condition)) evidence = *std::move(trouble);
    history.condition = nvidia::Remembered(before, condition);
    history.lost = false;
    history.losses = losses;
  }
  if (!was_reset) return WithoutEvents(*location, std::move(evidence));
  watcher_->Renew();
  return evidence;
}

// NVIDIA's plugin does not ask for the events of a Tegra's GPU, so their absence is no trouble.
Evidence NvidiaBackend::WithoutEvents(const DeviceLocation& location, Evidence good) const {
  if (location.integrated || !nvidia::AnyCounts(xids_)) return good;
  const auto refusal = watcher_->Refusal(location.uuid);
  if (!refusal || good.kind != EvidenceKind::kGood) return good;
  return nvidia::FromCheck(EvidenceKind::kBad, Reason::kCheckFailed,
                           "its events cannot be received: " + *refusal);
}

Evidence NvidiaBackend::CheckLocated(const nvml::LibraryPtr& library,
                                     const DeviceLocation& location, const std::string& id,
                                     nvidia::Condition& condition) {
  const nvml::Use use(*library, location.gpu);
  const auto gpu = library->DeviceByIndex(location.gpu);
  if (!gpu) return FailedCheck(library, gpu.error());
  Evidence evidence = location.is_mig ? CheckMig(library, *gpu, id) : CheckGpu(library, *gpu, id);
  if (evidence.kind != EvidenceKind::kGood) return evidence;
  const auto read = nvidia::ReadCondition(*library, *gpu);
  if (!read) return FailedCheck(library, read.error());
  condition = *read;
  return evidence;
}

std::optional<NvidiaBackend::DeviceLocation> NvidiaBackend::Find(const std::string& id) const {
  const MutexLock lock(mutex_);
  for (const auto& [index, gpu] : gpus_) {
    const bool integrated = nvidia::IsIntegrated(gpu.model);
    if (gpu.uuid == id) return DeviceLocation{index, false, gpu.uuid, integrated};
    for (const nvidia::MigDevice& mig : gpu.mig.devices) {
      if (mig.uuid == id) return DeviceLocation{index, true, gpu.uuid, integrated};
    }
  }
  return std::nullopt;
}

Evidence NvidiaBackend::CheckGpu(const nvml::LibraryPtr& library, nvml::DeviceHandle gpu,
                                 const std::string& id) {
  const auto uuid = library->Uuid(gpu);
  if (!uuid) return FailedCheck(library, uuid.error());
  if (*uuid != id) {
    return nvidia::FromCheck(EvidenceKind::kFatal, Reason::kVanished,
                             "in its place is another GPU, " + *uuid);
  }
  const auto memory = library->MemoryOf(gpu);
  // A GPU that shares the processor's memory has none of its own.
  if (!memory && memory.error().code != nvml::Return::kNotSupported) {
    return FailedCheck(library, memory.error());
  }
  return nvidia::FromCheck(EvidenceKind::kGood, {}, {});
}

Evidence NvidiaBackend::CheckMig(const nvml::LibraryPtr& library, nvml::DeviceHandle gpu,
                                 const std::string& id) {
  const auto devices = library->MigDevices(gpu);
  if (!devices) return FailedCheck(library, devices.error());
  for (const auto& [index, device] : *devices) {
    if (library->Uuid(device) == id) return CheckGpu(library, device, id);
  }
  return nvidia::FromCheck(EvidenceKind::kFatal, Reason::kVanished,
                           "its MIG instance was destroyed");
}

Evidence NvidiaBackend::FailedCheck(const nvml::LibraryPtr& library, const nvml::Failure& failure) {
  std::string text = library->Text(failure);
  if (nvml::IsOfDriver(failure)) {
    session_->Discard(library);
    const MutexLock lock(mutex_);
    if (events_ != nullptr) events_->RescanSoon();
    return nvidia::FromCheck(EvidenceKind::kUnknown, Reason::kDriverMissing, std::move(text));
  }
  switch (failure.code) {
    case nvml::Return::kGpuIsLost:
    case nvml::Return::kResetRequired:
      return nvidia::FromCheck(EvidenceKind::kFatal, Reason::kDeviceLost, std::move(text));
    case nvml::Return::kInvalidArgument:
    case nvml::Return::kNotFound:
    case nvml::Return::kGpuNotFound:
      return nvidia::FromCheck(EvidenceKind::kFatal, Reason::kVanished, std::move(text));
    default:
      return nvidia::FromCheck(EvidenceKind::kBad, Reason::kCheckFailed, std::move(text));
  }
}

NvidiaBackend::DeviceHistory& NvidiaBackend::HistoryOf(const std::string& id) {
  return histories_.try_emplace(id, DeviceHistory{.losses = losses_at_first_}).first->second;
}

// NVML does not report resets. A lost GPU answers again only after one. Only a reset clears some
// counters and states. The driver's start resets all GPUs. A GPU that answered all along was not
// reset.
bool NvidiaBackend::WasReset(const DeviceHistory& history, const nvidia::Condition& now,
                             unsigned losses) const {
  return history.lost || history.losses != losses ||
         (history.condition && nvidia::ShowsReset(*history.condition, now));
}

void NvidiaBackend::TellReset(const DeviceKey& key, const std::string& gpu) {
  if (events_ == nullptr) return;
  log::Info("the GPU was reset", {{"device", key.Text()}, {"gpu", gpu}});
  events_->Report(key,
                  nvidia::FromCheck(EvidenceKind::kReset, Reason::kDeviceLost, "it was reset"));
}

void NvidiaBackend::TellSlowdowns(const std::string& gpu, uint64_t now) {
  const auto told = slowdowns_.find(gpu);
  if (now == (told == slowdowns_.end() ? 0 : told->second)) return;
  if (now == 0) {
    slowdowns_.erase(told);
    return log::Info("the GPU is no longer slowed down", {{"gpu", gpu}});
  }
  slowdowns_[gpu] = now;
  log::Warn("the GPU is slowed down; look at its cooling and power",
            {{"gpu", gpu}, {"by", nvidia::SlowdownText(now)}});
}

void NvidiaBackend::OnEvent(const nvidia::Event& event) {
  const MutexLock lock(mutex_);
  if (events_ == nullptr) return;
  const bool known = std::any_of(gpus_.begin(), gpus_.end(),
                                 [&](const auto& entry) { return entry.second.uuid == event.gpu; });
  if (!known) {
    // No GPU is taken out on suspicion, as one bad GPU must not cost the others. None is trusted
    // either: a scan checks all at once.
    log::Warn("an XID of an unknown GPU came, so all GPUs are checked",
              {{"resource", resource_}, {"gpu", event.gpu}, {"xid", event.xid}});
    return events_->RescanSoon();
  }
  const std::vector<DeviceKey> keys = DevicesOfEvent(event);
  if (keys.empty()) return;
  events_->CountDriverError(event.gpu, nvidia::XidName(event.xid, xids_));
  const auto evidence = nvidia::EvidenceOf(event.xid, xids_);
  if (!evidence) {
    return log::Info("a program caused an XID; the GPU stays",
                     {{"resource", resource_},
                      {"gpu", event.gpu},
                      {"xid", event.xid},
                      {"meaning", nvidia::XidOf(event.xid).meaning}});
  }
  log::Warn("a GPU reported an error", {{"resource", resource_},
                                        {"gpu", event.gpu},
                                        {"gi", InstanceText(event.gpu_instance)},
                                        {"ci", InstanceText(event.compute_instance)},
                                        {"error", evidence->detail}});
  for (const DeviceKey& key : keys) events_->Report(key, *evidence);
}

std::vector<DeviceKey> NvidiaBackend::DevicesOfEvent(const nvidia::Event& event) const {
  std::vector<DeviceKey> keys;
  const auto add = [&](const std::string& id) TESSERA_REQUIRES(mutex_) {
    if (ids_.contains(id)) keys.push_back({resource_, id});
  };
  for (const auto& [index, gpu] : gpus_) {
    if (gpu.uuid != event.gpu) continue;
    add(gpu.uuid);
    for (const nvidia::MigDevice& mig : gpu.mig.devices) {
      if (Fits(event.gpu_instance, mig.gpu_instance) &&
          Fits(event.compute_instance, mig.compute_instance)) {
        add(mig.uuid);
      }
    }
  }
  return keys;
}

void NvidiaBackend::RecordScan(const std::vector<Device>& devices) {
  const MutexLock lock(mutex_);
  ids_.clear();
  for (const Device& device : devices) {
    ids_.insert(device.key.id);
  }
  std::set<std::string> gpus;
  for (const auto& [index, gpu] : gpus_) gpus.insert(gpu.uuid);
  // While its GPU is there, a missing MIG device was destroyed, so its history is dropped.
  std::erase_if(histories_, [&](const auto& entry) TESSERA_REQUIRES(mutex_) {
    return !ids_.contains(entry.first) && gpus.contains(entry.second.gpu);
  });
  for (auto& [id, history] : histories_) history.lost |= !ids_.contains(id);
}

}  // namespace tessera
