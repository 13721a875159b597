// SPDX-License-Identifier: Apache-2.0
// What happens to a pod on the node: admission with the allocation of its devices, the start of its
// containers, its end. Any thread; one admission at a time, as in kubelet, so that a plugin that
// hangs in Allocate holds up every later pod.
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
  // After a start of kubelet: pods with a container that never came to start are admitted again,
  // which fails while their plugin has not registered.
  void ReadmitUnstarted();

  // What each container of the pod holds.
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
  // The scheduler's count, for resources that no plugin answers for.
  Status CheckCapacity(const PodSpec& pod, std::string& reason) TESSERA_REQUIRES(core_.mutex);
  void StartContainers(const PodSpec& pod, Admission& admission);
  Status StartContainer(const PodSpec& pod, const ContainerSpec& container);
  Status PreStart(const Claim& claim);
  // Allocates what kubelet's accounting lack, as after a lost checkpoint.
  Status AllocateMissing(const PodSpec& pod, const ContainerSpec& container);
  std::vector<std::pair<std::string, int>> LimitsInRandomOrder(const ContainerSpec& container);

  Core& core_;
  Mutex one_at_a_time_;
};

}  // namespace tessera::kubelet::embedded
