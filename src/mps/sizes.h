// SPDX-License-Identifier: Apache-2.0
// The share of each GPU that a client of a resource's MPS daemon may take, and the daemon's
// commands for it. Pure; plain data; any thread.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "backend/nvidia/core/nvidia_config.h"

namespace tessera::mps {

// A device of the resource, as a scan found it.
struct FoundDevice {
  std::string id;  // the device's
  unsigned index = 0;
  std::string model{};
  uint64_t memory_mib = 0;  // 0: not known
  int capability = 0;       // 75 for 7.5
  bool is_mig = false;
};

struct Sizes {
  struct Gpu {
    std::string uuid;
    int memory = 0;  // MiB; 0: no limit
    bool operator==(const Gpu&) const = default;
  };
  int threads = 100;                                // percent
  std::vector<Gpu> gpus = {};                       // in NVML's order
  bool all_of_node = true;                          // the node has no other GPUs
  std::map<std::string, std::string> refused = {};  // by device, the reason
  // GPUs that may be the resource's and could not be read, by index: "GPU 3 does not answer ...".
  std::map<unsigned, std::string> unread = {};
  std::set<std::string> elsewhere = {};  // GPUs of other resources
  bool operator==(const Sizes&) const = default;
};

// The most clients on a GPU of this compute capability: 16 before Volta, 48 since.
int MostClients(int capability);

// `gpus_of_node`: the number of all GPUs, of any resource.
Sizes SizesFor(int replicas, const NvidiaConfig::Mps& config, std::span<const FoundDevice> found,
               size_t gpus_of_node);

// The daemon's CUDA_VISIBLE_DEVICES; empty: it sees all GPUs.
std::string VisibleDevices(const Sizes& sizes);
// The daemon's commands after its start. GPUs are numbered as the daemon sees them.
std::vector<std::string> Commands(const Sizes& sizes);

// Whether a daemon with the sizes `threads` and `served` can serve `sizes`. Common GPUs must have
// the same sizes, and the daemon must have no GPU of another resource.
bool Agree(int threads, const std::map<std::string, int>& served, const Sizes& sizes);

}  // namespace tessera::mps
