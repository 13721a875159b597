// SPDX-License-Identifier: Apache-2.0
// The node's AMD GPUs and their partitions, by sysfs alone: the devices of the driver amdgpu,
// joined with the kernel's topology. Plain data; any thread; reads sysfs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backend/amd/topology.h"
#include "base/error.h"
#include "base/result.h"
#include "os/files.h"

namespace tessera::amd {

// A GPU, or a partition of one: what a container can be given.
struct Part {
  unsigned number = 0;        // in the GPU
  unsigned index = 0;         // among all parts of the node
  std::optional<int> card{};  // DRM minor of /dev/dri/cardN
  KfdNode kfd{};
  bool operator==(const Part&) const = default;
};

struct Gpu {
  std::string address{};    // "0000:05:00.0"
  std::string device_id{};  // "74a1"
  std::string product{};    // "AMD Instinct MI300X OAM"; empty: unknown
  uint64_t unique_id = 0;   // the serial number in the chip; 0: none
  std::optional<int> numa{};
  std::string compute{};      // "spx", "cpx" ...; empty: it cannot be partitioned
  std::string memory_mode{};  // "nps1" ...; empty: likewise
  // Whether the driver has modes to choose from. It says so during a reset, too.
  bool divides_compute = false;
  bool divides_memory = false;
  bool counts_errors = true;  // of memory and other blocks; consumers' GPUs do not
  uint64_t memory = 0;        // bytes, of the whole GPU; 0: unknown
  unsigned index = 0;         // among the node's GPUs, by address
  std::vector<Part> parts{};  // by number
  // Why nothing of it can be used.
  std::optional<Error> trouble{};
  bool operator==(const Gpu&) const = default;

  // The whole GPU is one part.
  bool IsWhole() const { return parts.size() <= 1 && (compute.empty() || compute == "spx"); }
  // "spx_nps1"; "gpu", if it cannot be partitioned.
  std::string Profile() const;
  // Each part has memory of its own.
  bool HasMemoryPerPart() const;
};

struct Gpus {
  uint64_t generation = 0;  // of the kernel's topology
  std::vector<Gpu> gpus{};  // by address
};
// kDriverMissing: amdgpu is not loaded.
Result<Gpus> ReadGpus(const os::Root& root, Depth depth = Depth::kAll);
// The addresses of the driver's devices; kDriverMissing.
Result<std::vector<std::string>> ReadAddresses(const os::Root& root);

// Whether the PCI bus has no AMD GPU that amdgpu could serve. False if the bus cannot be read.
bool HasNoGpu(const os::Root& root);

// AMD SMI's UUID: "e3ff74a1-0000-1000-80aa-140f9a5f9e31".
std::string SmiUuid(uint64_t unique_id, std::string_view device_id);
// The unique id in an AMD SMI UUID; nothing, if the text is none.
std::optional<uint64_t> UniqueIdOf(std::string_view smi_uuid);
// ROCm's name: "GPU-e3aa140f9a5f9e31".
std::string RocmName(uint64_t unique_id);
// The name in AMD's container toolkit: "0xE3AA140F9A5F9E31". It has no zeros in front. Source:
// "Running Workloads" of the toolkit's documentation, and the tests of its list of GPUs.
std::string ToolkitName(uint64_t unique_id);

}  // namespace tessera::amd
