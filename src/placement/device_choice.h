// SPDX-License-Identifier: Apache-2.0
// Chooses a pod's devices and their parts from all devices of a node, as a scheduler does. Pure.
// Plain data. Any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "kube/objects/pod.h"
#include "placement/candidate_device.h"
#include "placement/device_lack.h"
#include "placement/device_policy.h"
#include "placement/placement.h"
#include "placement/requests.h"

namespace tessera {

// Which devices suit a pod, and which its user wants. Empty: any. A type matches if the device's
// type contains the text, in any case; an id matches exactly.
struct DeviceSelector {
  std::string family{};  // text in every type of the vendor
  // Allowed modes, as one text that contains the device's mode.
  std::string modes{};
  std::vector<std::string> types{};
  std::vector<std::string> no_types{};
  std::vector<std::string> ids{};
  std::vector<std::string> no_ids{};
};

// Rules that only some vendors' devices have.
struct SharingTraits {
  // Compute time has units, for example 304. A request gets its percentage of them, and at least
  // one.
  bool core_units = false;
  bool equal_parts = false;    // all parts of a device have equal memory
  bool several_whole = false;  // a container with several devices has each whole
};

// A container that requests devices.
struct AskingContainer {
  std::string name;
  kube::Container::Kind kind = kube::Container::Kind::kApp;
  Request request{};
};

// A pod's demand on any node.
struct DeviceDemand {
  std::vector<AskingContainer> containers{};  // in the pod's order
  DeviceSelector selector{};
  DevicePolicy policy{};
  ScoreWeights weights{};
  SharingTraits traits{};
  uint8_t kind = 0;  // vendor's number (CandidateDevice::kind)
};

// kBadSize if a container's request is unreadable.
Result<std::vector<AskingContainer>> AskingContainersOf(const kube::Pod& pod,
                                                        const RequestRules& rules);

// The placement of each container, or the reason why the node does not fit. An init container may
// use devices that app containers get later; a sidecar keeps its own. Kubelet reuses devices the
// same way.
tl::expected<PodPlacement, Misfit> ChooseDevices(const DeviceDemand& demand,
                                                 std::span<const CandidateDevice> devices);

}  // namespace tessera
