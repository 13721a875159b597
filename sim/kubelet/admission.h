// SPDX-License-Identifier: Apache-2.0
// A pod's life on the node: admission with the allocation of devices, start of its containers, end.
// Any thread. One admission runs at a time, as in kubelet, so a plugin that hangs in Allocate
// delays all later pods.
#pragma once

#include <map>
#include <string>

#include "sim/kubelet/core.h"

namespace tessera::kubelet::embedded {

class PodAdmission {
 public:
  explicit PodAdmission(Core& core) : core_(core) {}

  Admission Run(PodSpec pod);
  Status End(const PodName& name);
  Status Restart(const PodName& name, const std::string& container);
  // After kubelet's start, admits pods again that have a container that never started. This fails
  // until their plugin has registered.
  void ReadmitUnstarted();

  // The devices of each of the pod's containers.
  static std::vector<ContainerGrant> GrantsOf(const Core& core, const PodSpec& pod)
      TESSERA_REQUIRES(core.mutex);

 private:
  // resource -> devices of finished init containers, for later containers of the same pod.
  using Reusable = std::map<std::string, Ids>;

  Admission Admit(PodSpec pod);
  Status AllocatePod(const PodSpec& pod);
  Status AllocateContainer(const PodSpec& pod, const ContainerSpec& container, Reusable& reusable);
  Status AllocateResource(const Claim& claim, int required, const Ids& reusable);
  Result<Ids> Choose(const Claim& claim, int required, const Ids& reusable);
  Result<Ids> Prefer(const Claim& claim, int required, const Ids& available, const Ids& chosen);
  // The scheduler's count, for resources without a plugin.
  Status CheckCapacity(const PodSpec& pod, std::string& reason) TESSERA_REQUIRES(core_.mutex);
  void StartContainers(const PodSpec& pod, Admission& admission);
  Status StartContainer(const PodSpec& pod, const ContainerSpec& container);
  Status PreStart(const Claim& claim);
  // Allocates devices that kubelet's accounting lacks, as after a lost checkpoint.
  Status AllocateMissing(const PodSpec& pod, const ContainerSpec& container);
  std::vector<std::pair<std::string, int>> LimitsInRandomOrder(const ContainerSpec& container);

  Core& core_;
  Mutex one_at_a_time_;
};

}  // namespace tessera::kubelet::embedded
