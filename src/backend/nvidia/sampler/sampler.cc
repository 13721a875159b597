// SPDX-License-Identifier: Apache-2.0
#include "backend/nvidia/sampler/sampler.h"

#include <fmt/core.h>

#include <chrono>
#include <optional>
#include <utility>

#include "backend/nvidia/mig/mig.h"

namespace tessera::nvidia {
namespace {

constexpr Duration kPatience{2'000};  // the longest wait for GPUs
constexpr int kReaders = 64;          // more than a node has GPUs

// Reads one value after the other, until the GPU or the driver is gone.
class Reader {
 public:
  Reader(const nvml::Library& library, nvml::DeviceHandle gpu) : library_(library), gpu_(gpu) {}

  // Null: not told, or gone.
  template <class T, class... Parameters>
  std::optional<T> operator()(nvml::Answer<T> (nvml::Library::*ask)(nvml::DeviceHandle,
                                                                    Parameters...) const,
                              Parameters... arguments) {
    if (gone_) return std::nullopt;
    const nvml::Answer<T> answer = (library_.*ask)(gpu_, arguments...);
    if (answer) return *answer;
    const nvml::Failure& failure = answer.error();
    if (failure.code == nvml::Return::kGpuIsLost || nvml::IsOfDriver(failure)) gone_ = failure;
    return std::nullopt;
  }

  const std::optional<nvml::Failure>& gone() const { return gone_; }

 private:
  const nvml::Library& library_;
  const nvml::DeviceHandle gpu_;
  std::optional<nvml::Failure> gone_{};
};

nvml::Answer<SampledDevice> ReadDevice(const nvml::Library& library, unsigned index) {
  const nvml::Use use(library, index);
  const auto gpu = library.DeviceByIndex(index);
  if (!gpu) return tl::unexpected(gpu.error());
  auto uuid = library.Uuid(*gpu);
  if (!uuid) return tl::unexpected(uuid.error());
  SampledDevice device{.uuid = *std::move(uuid), .index = index};
  Reader read(library, *gpu);
  device.model = read(&nvml::Library::Name).value_or("");
  if (const auto pci = read(&nvml::Library::Pci)) device.address = pci->bus_id;
  if (const auto minor = read(&nvml::Library::MinorNumber)) {
    device.node = fmt::format("nvidia{}", *minor);
  }
  if (read.gone()) return tl::unexpected(*read.gone());
  const auto mig = ReadMig(library, *gpu);
  if (!mig) return device;
  for (const MigDevice& part : mig->devices) {
    device.partitions.push_back({.uuid = part.uuid,
                                 .profile = part.profile,
                                 .gpu_instance = part.gpu_instance,
                                 .compute_instance = part.compute_instance});
  }
  return device;
}

void ReadMemory(Reader& read, DeviceSample& sample) {
  if (const auto memory = read(&nvml::Library::MemoryWithReserved)) {
    sample.memory_used = memory->used;
    sample.memory_free = memory->free;
    sample.memory_reserved = memory->reserved;
  } else if (const auto former = read(&nvml::Library::MemoryOf)) {
    sample.memory_used = former->used;
    sample.memory_free = former->free;
  }
}

// A partition that does not answer is left out.
std::vector<PartitionMemory> ReadPartitions(const nvml::Library& library, nvml::DeviceHandle gpu) {
  std::vector<PartitionMemory> partitions;
  const auto handles = library.MigDevices(gpu);
  if (!handles) return partitions;
  for (const auto& [index, handle] : *handles) {
    const auto uuid = library.Uuid(handle);
    DeviceSample sample;
    Reader read(library, handle);
    ReadMemory(read, sample);
    if (!uuid || !sample.memory_used || !sample.memory_free) continue;
    partitions.push_back({*uuid, *sample.memory_used, *sample.memory_free});
  }
  return partitions;
}

DeviceSample ReadSample(Reader& read) {
  using nvml::Library;
  DeviceSample sample;
  ReadMemory(read, sample);
  if (const auto use = read(&Library::UtilizationOf)) {
    sample.utilization = use->gpu;
    sample.memory_utilization = use->memory;
  }
  sample.encoder = read(&Library::EncoderUtilization);
  sample.decoder = read(&Library::DecoderUtilization);
  sample.temperature = read(&Library::Temperature);
  sample.memory_temperature = read(&Library::MemoryTemperature);
  if (const auto milliwatts = read(&Library::Power)) sample.power = *milliwatts / 1000.0;
  sample.energy = read(&Library::Energy);
  sample.sm_clock = read(&Library::Clock, nvml::ClockType::kSm);
  sample.memory_clock = read(&Library::Clock, nvml::ClockType::kMemory);
  sample.pcie_replays = read(&Library::PcieReplays);
  sample.ecc_corrected = read(&Library::EccErrors, nvml::MemoryErrorType::kCorrected);
  sample.ecc_uncorrected = read(&Library::EccErrors, nvml::MemoryErrorType::kUncorrected);
  if (const auto rows = read(&Library::Remapped)) {
    sample.remapped_corrected = rows->corrected;
    sample.remapped_uncorrected = rows->uncorrected;
    sample.remap_failed = rows->failed;
  }
  return sample;
}

}  // namespace

GpuSampler::GpuSampler(const os::Root& root, const std::string& driver_root,
                       std::function<bool()> has_no_gpu)
    : session_(nvml::Session::Of(root, driver_root)),
      has_no_gpu_(std::move(has_no_gpu)),
      readers_(kReaders) {}

Result<std::vector<SampledDevice>> GpuSampler::Devices() {
  const auto opened = session_->Open();
  if (!opened && opened.error().reason == Reason::kDriverMissing && has_no_gpu_()) {
    return std::vector<SampledDevice>();
  }
  const nvml::LibraryPtr library = TRY(opened);
  const auto count = library->DeviceCount();
  if (!count) return Fail(Failed(library, count.error()));
  SerialQueue queue(readers_);
  std::vector<std::shared_ptr<DeviceReading>> readings;
  for (unsigned i = 0; i < *count; ++i) {
    const MutexLock lock(mutex_);
    std::shared_ptr<DeviceReading>& last = readings_[i];
    if (last == nullptr ||
        last->IsDone()) {  // one that hangs goes on, as one stuck thread is enough
      last = std::make_shared<DeviceReading>();
      queue.Add([reading = last, library, i] { reading->Finish(ReadDevice(*library, i)); });
    }
    readings.push_back(last);
  }
  const auto limit = std::chrono::steady_clock::now() + kPatience;
  queue.Run(limit);

  const std::string driver = library->DriverVersion().value_or("");
  std::vector<SampledDevice> devices;
  for (const auto& reading : readings) {
    auto answer = reading->Await(limit);
    if (!answer) continue;
    if (*answer) {
      devices.push_back(**std::move(answer));
      devices.back().driver = driver;
    } else if (nvml::IsOfDriver(answer->error())) {
      return Fail(Failed(library, answer->error()));
    }
  }
  return devices;
}

Result<DeviceSample> GpuSampler::Sample(const SampledDevice& device) {
  const nvml::LibraryPtr library = TRY(session_->Open());
  const nvml::Use use(*library, device.index);
  const auto gpu = library->DeviceByIndex(device.index);
  if (!gpu) return Fail(Failed(library, gpu.error()));
  const auto uuid = library->Uuid(*gpu);
  if (!uuid) return Fail(Failed(library, uuid.error()));
  if (*uuid != device.uuid) {
    return Fail(Reason::kVanished, "in the place of GPU {} is another, {}", device.index, *uuid);
  }
  Reader read(*library, *gpu);
  DeviceSample sample = ReadSample(read);
  if (read.gone()) return Fail(Failed(library, *read.gone()));
  if (!device.partitions.empty()) sample.partitions = ReadPartitions(*library, *gpu);
  return sample;
}

Error GpuSampler::Failed(const nvml::LibraryPtr& library, const nvml::Failure& failure) {
  if (nvml::IsOfDriver(failure)) session_->Discard(library);
  const bool lost =
      failure.code == nvml::Return::kGpuIsLost || failure.code == nvml::Return::kResetRequired;
  return {lost ? Reason::kDeviceLost : Reason::kScanFailed, library->Text(failure)};
}

void GpuSampler::Release() {
  session_->Release();
}

void GpuSampler::TakeUp() {
  session_->TakeUp();
}

std::vector<std::string> GpuSampler::HeldBy() const {
  return session_->HeldBy();
}

}  // namespace tessera::nvidia
