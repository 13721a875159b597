// SPDX-License-Identifier: Apache-2.0
// The kernel's list of processors that compute, by sysfs: /sys/class/kfd/kfd/topology. Each GPU is
// a node of it, or each of its partitions. Numbers of nodes change with every boot and partition.
// Source: drivers/gpu/drm/amd/amdkfd of Linux. Plain data; any thread; reads sysfs.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "os/files.h"

namespace tessera::amd {

struct KfdLink {
  uint64_t type = 0;  // kXgmi, kPcie, others
  bool operator==(const KfdLink&) const = default;
};
inline constexpr uint64_t kPcieLink = 2;
inline constexpr uint64_t kXgmiLink = 11;

// A node with SIMDs. Unknown numbers are 0.
struct KfdNode {
  unsigned number = 0;
  uint64_t gpu_id = 0;
  std::string address{};   // of the GPU on the PCI bus: "0000:05:00.0"
  unsigned partition = 0;  // its number in the GPU
  int render = 0;          // DRM minor: 128 for renderD128
  uint64_t simds = 0;
  uint64_t simds_per_cu = 0;
  uint64_t gfx_version = 0;  // 90402
  uint64_t hive = 0;
  uint64_t unique_id = 0;
  uint64_t memory = 0;                  // bytes
  std::map<unsigned, KfdLink> links{};  // by the other node's number

  uint64_t cus() const { return simds_per_cu == 0 ? 0 : simds / simds_per_cu; }
  bool operator==(const KfdNode&) const = default;
};

struct Topology {
  uint64_t generation = 0;  // grows with every change
  std::vector<KfdNode> nodes{};
  // Nodes that cannot be read: the process's device cgroup denies their GPUs.
  size_t denied = 0;
  bool operator==(const Topology&) const = default;
};

// How much is read of each node.
enum class Depth : uint8_t {
  kPlace,  // not its memory and its links, each of which has a file
  kAll,
};
// kNotFound: there is no amdkfd driver. A topology that changes meanwhile is read again.
// `addresses`: the driver's GPUs, by which a node's place is told from its partition.
Result<Topology> ReadTopology(const os::Root& root, const std::vector<std::string>& addresses,
                              Depth depth);
// The generation alone; 0: unknown.
uint64_t ReadGeneration(const os::Root& root);

// "name value" lines. A line that is none, and a number beyond 64 bits, are left out.
std::map<std::string, uint64_t, std::less<>> ParseProperties(std::string_view text);
// "gfx942" of 90402; "" of 0.
std::string GfxName(uint64_t version);

}  // namespace tessera::amd
