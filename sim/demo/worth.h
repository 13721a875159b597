// SPDX-License-Identifier: Apache-2.0
// What shares of virtual GPUs are worth, and who has how much of each GPU. Counted from the
// scenario's configuration and the description of the hardware alone, so that what the agent says
// can be checked against it. Pure over observations; one thread.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "grant/fraction.h"
#include "sim/demo/observation.h"

namespace tessera::demo {

// What a pod has of one GPU.
struct PodUse {
  std::string pod;
  int64_t memory = 0;  // MiB
  int cores = 0;       // percent of its compute time
  bool operator==(const PodUse&) const = default;
};

class Worth {
 public:
  void Learn(const Observation& observation);

  // By the configuration of now, GPUs by index; empty where these are no virtual GPUs.
  std::vector<Fraction> Of(const std::string& resource, const std::vector<std::string>& ids) const;
  // What the container had when it was told first: that holds for its life.
  std::vector<Fraction> Given(const ContainerLimits& limits) const;

  bool IsDivided(const std::string& resource) const { return vgpus_.contains(resource); }
  // MiB; 0: not known.
  int64_t MemoryOf(const std::string& device) const;
  // Of the device, by pod; of containers that were told.
  std::vector<PodUse> TakenOf(const std::string& device) const;

 private:
  using Key = std::tuple<std::string, std::string, std::string>;  // pod, container, resource

  std::map<std::string, VirtualGpus> vgpus_;  // by resource
  std::map<Key, std::vector<Fraction>> given_;
  HardwareNames names_;
};

}  // namespace tessera::demo
