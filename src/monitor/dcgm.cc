// SPDX-License-Identifier: Apache-2.0
#include "monitor/dcgm.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

#include "http/metrics.h"

namespace tessera::monitor {
namespace {

using http::EscapedLabel;

constexpr double kMebibyte = 1 << 20;

// Units as DCGM's: MiB, watts, millijoules, MHz, percent, degrees Celsius.
std::optional<double> Mebibytes(const std::optional<uint64_t>& bytes) {
  return bytes ? std::optional(static_cast<double>(*bytes) / kMebibyte) : std::nullopt;
}
template <class T>
std::optional<double> Plain(const std::optional<T>& value) {
  return value ? std::optional(static_cast<double>(*value)) : std::nullopt;
}

constexpr size_t kUtilizationField = 0;
constexpr size_t kUsedField = 1;
constexpr size_t kFreeField = 2;

#define FIELD(name, type, help, value)                                                \
  DcgmField {                                                                         \
    "DCGM_FI_DEV_" name, type, help, [](const DeviceSample& sample) { return value; } \
  }
constexpr std::array kFields = {
    FIELD("GPU_UTIL", "gauge", "Percent of time with a kernel.", Plain(sample.utilization)),
    FIELD("FB_USED", "gauge", "Used memory in MiB.", Mebibytes(sample.memory_used)),
    FIELD("FB_FREE", "gauge", "Free memory in MiB.", Mebibytes(sample.memory_free)),
    FIELD("FB_RESERVED", "gauge", "Reserved memory in MiB.", Mebibytes(sample.memory_reserved)),
    FIELD("MEM_COPY_UTIL", "gauge", "Percent of time with memory traffic.",
          Plain(sample.memory_utilization)),
    FIELD("ENC_UTIL", "gauge", "Percent of the encoder's time.", Plain(sample.encoder)),
    FIELD("DEC_UTIL", "gauge", "Percent of the decoder's time.", Plain(sample.decoder)),
    FIELD("GPU_TEMP", "gauge", "Temperature in degrees Celsius.", Plain(sample.temperature)),
    FIELD("MEMORY_TEMP", "gauge", "Temperature of the memory in degrees Celsius.",
          Plain(sample.memory_temperature)),
    FIELD("POWER_USAGE", "gauge", "Power in watts.", sample.power),
    FIELD("TOTAL_ENERGY_CONSUMPTION", "counter", "Energy in mJ since the driver was loaded.",
          Plain(sample.energy)),
    FIELD("SM_CLOCK", "gauge", "Clock of the multiprocessors in MHz.", Plain(sample.sm_clock)),
    FIELD("MEM_CLOCK", "gauge", "Clock of the memory in MHz.", Plain(sample.memory_clock)),
    FIELD("PCIE_REPLAY_COUNTER", "counter", "Retries on PCIe.", Plain(sample.pcie_replays)),
    FIELD("CORRECTABLE_REMAPPED_ROWS", "counter", "Rows remapped for correctable errors.",
          Plain(sample.remapped_corrected)),
    FIELD("UNCORRECTABLE_REMAPPED_ROWS", "counter", "Rows remapped for uncorrectable errors.",
          Plain(sample.remapped_uncorrected)),
    FIELD("ROW_REMAP_FAILURE", "gauge", "1 if a row could not be remapped, else 0.",
          Plain(sample.remap_failed)),
};
#undef FIELD

// `partition`: null for the whole device.
std::string LabelsOf(const SampledDevice& device, const SampledPartition* partition,
                     std::string_view node) {
  const std::string instance =
      partition == nullptr ? ""
                           : fmt::format(R"(GPU_I_PROFILE="{}",GPU_I_ID="{}",)",
                                         EscapedLabel(partition->profile), partition->gpu_instance);
  return fmt::format(
      R"(gpu="{}",UUID="{}",pci_bus_id="{}",device="{}",modelName="{}",{}hostname="{}",)"
      R"(DCGM_FI_DRIVER_VERSION="{}")",
      device.index, EscapedLabel(device.uuid), EscapedLabel(device.address),
      EscapedLabel(device.node), EscapedLabel(device.model), instance, EscapedLabel(node),
      EscapedLabel(device.driver));
}

std::string PodLabels(const Container& container) {
  const auto [space, pod] = PodNameOf(container);
  return fmt::format(R"(,container="{}",namespace="{}",pod="{}",pod_uid="{}")",
                     EscapedLabel(container.container), EscapedLabel(space), EscapedLabel(pod),
                     EscapedLabel(container.pod));
}

class DcgmPage {
 public:
  explicit DcgmPage(const Snapshot& snapshot) : snapshot_(snapshot) {}

  std::string Make() {
    for (const DeviceState& state : snapshot_.devices) {
      if (state.sample) AddDevice(state, *state.sample);
    }
    std::string page;
    for (size_t i = 0; i < kFields.size(); ++i) {
      if (texts_[i].empty()) continue;
      fmt::format_to(std::back_inserter(page), "# HELP {0} {1}\n# TYPE {0} {2}\n", kFields[i].name,
                     kFields[i].help, kFields[i].type);
      page += std::exchange(texts_[i], {});
    }
    return page;
  }

 private:
  void Add(size_t field, std::string_view labels, double value) {
    fmt::format_to(std::back_inserter(texts_[field]), "{}{{{}}} {}\n", kFields[field].name, labels,
                   value);
  }

  void AddDevice(const DeviceState& state, const DeviceSample& sample) {
    const std::string labels = LabelsOf(state.device, nullptr, snapshot_.node);
    const std::string pod = HolderOf(state.device.uuid);
    for (size_t i = 0; i < kFields.size(); ++i) {
      if (const auto value = kFields[i].value(sample)) Add(i, labels + pod, *value);
    }
    AddSharers(state.device.uuid, labels, kFields[kUtilizationField].value(sample),
               kFields[kUsedField].value(sample));
    for (const SampledPartition& partition : state.device.partitions) {
      if (const auto* memory = MemoryOf(state, partition.uuid); memory != nullptr) {
        AddPartition(state.device, partition, *memory);
      }
    }
  }

  // NVML tells only the memory of a partition.
  void AddPartition(const SampledDevice& device, const SampledPartition& partition,
                    const PartitionMemory& memory) {
    const std::string labels = LabelsOf(device, &partition, snapshot_.node);
    const std::string pod = HolderOf(partition.uuid);
    const auto used = Mebibytes(memory.used);
    Add(kUsedField, labels + pod, *used);
    Add(kFreeField, labels + pod, *Mebibytes(memory.free));
    AddSharers(partition.uuid, labels, std::nullopt, used);
  }

  // The labels of the container that has the device alone, as with DCGM's exporter.
  std::string HolderOf(std::string_view device) const {
    for (const Container& container : snapshot_.containers) {
      if (container.IsWhole() && PartOf(container, device) != nullptr) return PodLabels(container);
    }
    return "";
  }

  // The containers that share the device. `utilization` and `used` are the device's: without the
  // limiting library nothing else is known of a container, and DCGM's exporter says the same.
  void AddSharers(std::string_view device, const std::string& labels,
                  std::optional<double> utilization, std::optional<double> used) {
    int number = 0;  // among them, running or not
    for (const Container& container : snapshot_.containers) {
      const bool limited = !container.file.empty();
      const bool shares = limited || (!container.division.empty() && !container.IsWhole());
      if (!shares || !Has(container, device)) continue;
      const std::string own =
          fmt::format(R"({}{},vgpu="{}")", labels, PodLabels(container), number++);
      if (limited) {
        AddLimited(container, device, own);
      } else {
        if (utilization) Add(kUtilizationField, own, *utilization);
        if (used) Add(kUsedField, own, *used);
      }
    }
  }

  void AddLimited(const Container& container, std::string_view device, const std::string& labels) {
    if (container.problem && container.problem->reason == Reason::kNotFound) {
      Add(kUtilizationField, labels, 0);  // no process has used the device
      Add(kUsedField, labels, 0);
    }
    for (size_t i = 0; i < container.region.devices.size(); ++i) {
      if (container.region.devices[i].uuid != device) continue;
      if (container.got[i]) Add(kUtilizationField, labels, *container.got[i]);
      Add(kUsedField, labels, static_cast<double>(container.region.devices[i].used) / kMebibyte);
      break;
    }
  }

  // By the grant; without one by the region, which names devices as its container likes.
  static bool Has(const Container& container, std::string_view device) {
    if (!container.parts.empty()) return PartOf(container, device) != nullptr;
    return std::ranges::any_of(container.region.devices,
                               [&](const region::Device& one) { return one.uuid == device; });
  }

  const Snapshot& snapshot_;
  std::array<std::string, kFields.size()> texts_;
};

}  // namespace

std::span<const DcgmField> DcgmFields() {
  return kFields;
}

std::string ExposeDcgm(const Snapshot& snapshot) {
  return DcgmPage(snapshot).Make();
}

}  // namespace tessera::monitor
