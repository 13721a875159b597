// SPDX-License-Identifier: Apache-2.0
// How much of its GPUs a client of a resource's MPS daemon may take, and how that is said to the
// daemon. Pure; plain data; any thread.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "backend/nvidia/core/nvidia_config.h"

namespace tessera::mps {

// A device of the resource as it was found.
struct FoundDevice {
  std::string id;  // the device's
  unsigned index = 0;
  std::string model{};
  uint64_t memory_mib = 0;  // 0: it does not say
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
  std::vector<Gpu> gpus = {};                       // in the order of NVML
  bool all_of_node = true;                          // there are no other GPUs
  std::map<std::string, std::string> refused = {};  // by device why MPS does not share it
  // GPUs that may be the resource's and could not be read, by index: "GPU 3 does not answer ...".
  std::map<unsigned, std::string> unread = {};
  std::set<std::string> elsewhere = {};  // GPUs that are not the resource's
  bool operator==(const Sizes&) const = default;
};

// The most clients on a GPU of this compute capability: 16 before Volta, 48 from there on.
int MostClients(int capability);

// `gpus_of_node`: how many there are, of whatever resource.
Sizes SizesFor(int replicas, const NvidiaConfig::Mps& config, std::span<const FoundDevice> found,
               size_t gpus_of_node);

// What CUDA_VISIBLE_DEVICES is to be for the daemon; empty where it is to see all.
std::string VisibleDevices(const Sizes& sizes);
// What the daemon is told once it runs, one command each. GPUs are numbered as the daemon sees
// them.
std::vector<std::string> Commands(const Sizes& sizes);

// Whether a daemon that was told these sizes serves these as well: what both speak of is alike, and
// it has no GPU that is not the resource's.
bool Agree(int threads, const std::map<std::string, int>& served, const Sizes& sizes);

}  // namespace tessera::mps
