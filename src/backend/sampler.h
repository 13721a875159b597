// SPDX-License-Identifier: Apache-2.0
// What a device measures of itself: memory, utilization, temperature, clocks, errors. Optional part
// of a kind, for `tessera monitor`, which runs beside the agent in a process of its own.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/schema/config.h"

namespace tessera {

// A partition of a device.
struct SampledPartition {
  std::string uuid{};
  std::string profile{};  // "1g.5gb"
  unsigned gpu_instance = 0;
  unsigned compute_instance = 0;
  bool operator==(const SampledPartition&) const = default;
};

struct SampledDevice {
  std::string uuid{};
  unsigned index = 0;     // by the vendor's library
  std::string model{};    // "NVIDIA H200"
  std::string address{};  // as the vendor's tools write it: "00000000:3B:00.0"
  std::string node{};     // below /dev: "nvidia0"; empty: unknown
  std::string driver{};   // version
  std::vector<SampledPartition> partitions{};
  bool operator==(const SampledDevice&) const = default;
};

struct PartitionMemory {
  std::string uuid{};
  uint64_t used = 0;  // bytes
  uint64_t free = 0;  // bytes
  bool operator==(const PartitionMemory&) const = default;
};

// One reading. Nothing: the device or its driver does not say.
struct DeviceSample {
  std::optional<uint64_t> memory_used{};         // bytes
  std::optional<uint64_t> memory_free{};         // bytes
  std::optional<uint64_t> memory_reserved{};     // bytes, by driver and firmware
  std::optional<unsigned> utilization{};         // percent of time with a kernel
  std::optional<unsigned> memory_utilization{};  // percent of time with memory traffic
  std::optional<unsigned> encoder{};             // percent
  std::optional<unsigned> decoder{};             // percent
  std::optional<unsigned> temperature{};         // degrees Celsius
  std::optional<unsigned> memory_temperature{};  // degrees Celsius
  std::optional<double> power{};                 // watts
  std::optional<uint64_t> energy{};              // millijoules since the driver was loaded
  std::optional<unsigned> sm_clock{};            // MHz
  std::optional<unsigned> memory_clock{};        // MHz
  std::optional<uint64_t> pcie_replays{};
  std::optional<uint64_t> ecc_corrected{};         // since the driver was loaded
  std::optional<uint64_t> ecc_uncorrected{};       // since the driver was loaded
  std::optional<unsigned> remapped_corrected{};    // rows
  std::optional<unsigned> remapped_uncorrected{};  // rows
  std::optional<bool> remap_failed{};
  std::vector<PartitionMemory> partitions{};  // those of SampledDevice that say
  bool operator==(const DeviceSample&) const = default;
};

// Any thread; calls may hang with their device, and only with it.
class Sampler {
 public:
  virtual ~Sampler() = default;
  // The devices of this node. An unreadable device is left out. An error: the driver is missing,
  // lost or released.
  virtual Result<std::vector<SampledDevice>> Devices() = 0;
  // An error: the device does not answer at all, for example because it is lost.
  virtual Result<DeviceSample> Sample(const SampledDevice& device) = 0;
  // As Backend's.
  virtual void Release() = 0;
  virtual void TakeUp() = 0;
  virtual std::vector<std::string> HeldBy() const = 0;
};

class SamplerMaker {
 public:
  // Waits for nothing. Null: no resource of the configuration is of this kind.
  virtual std::unique_ptr<Sampler> Make(const config::Config& config) const = 0;

 protected:
  ~SamplerMaker() = default;
};

}  // namespace tessera
