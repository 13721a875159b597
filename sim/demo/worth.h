// SPDX-License-Identifier: Apache-2.0
// The worth of shares of virtual GPUs, and each pod's part of each GPU. Computed only from the
// scenario's configuration and the hardware's description, so that the agent's answers can be
// checked against it. Pure over observations; one thread.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "grant/fraction.h"
#include "sim/demo/observation.h"

namespace tessera::demo {

// A pod's part of one GPU.
struct PodUse {
  std::string pod;
  int64_t memory = 0;  // MiB
  int cores = 0;       // percent of compute time
  bool operator==(const PodUse&) const = default;
};

class Worth {
 public:
  void Learn(const Observation& observation);

  // By the present configuration, GPUs by index; empty: these are no virtual GPUs.
  std::vector<Fraction> Of(const std::string& resource, const std::vector<std::string>& ids) const;
  // By the container's first limits, which hold for its life.
  std::vector<Fraction> Given(const ContainerLimits& limits) const;

  bool IsDivided(const std::string& resource) const { return vgpus_.contains(resource); }
  // MiB; 0: unknown.
  int64_t MemoryOf(const std::string& device) const;
  // The device's parts by pod, from containers with limits.
  std::vector<PodUse> TakenOf(const std::string& device) const;

 private:
  using Key = std::tuple<std::string, std::string, std::string>;  // pod, container, resource

  std::map<std::string, VirtualGpus> vgpus_;  // by resource
  std::map<Key, std::vector<Fraction>> given_;
  HardwareNames names_;
};

}  // namespace tessera::demo
