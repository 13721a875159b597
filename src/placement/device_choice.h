// SPDX-License-Identifier: Apache-2.0
// Which of a node's devices the containers of a pod get, and how much of each, where all of the
// node is to choose from: what a scheduler decides for a node. Pure; plain data; any thread.
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

// Which devices a pod can have, and which its user wants at all. Empty: any. A type is wanted whose
// name has the text in it, in any case of letters; an id is wanted as it is.
struct DeviceSelector {
  std::string family{};  // that all types have in them
  std::string modes{};   // that has the device's mode in it
  std::vector<std::string> types{};
  std::vector<std::string> no_types{};
  std::vector<std::string> ids{};
  std::vector<std::string> no_ids{};
};

// What is peculiar to devices of a kind.
struct SharingTraits {
  // Their compute time is in units, such as 304 of them: who asks has so many percent of these, and
  // one at least.
  bool core_units = false;
  bool equal_parts = false;    // all parts of a device have the same memory
  bool several_whole = false;  // who has several has all of each
};

// A container that asks for devices.
struct AskingContainer {
  std::string name;
  kube::Container::Kind kind = kube::Container::Kind::kApp;
  Request request{};
};

// What a pod wants of whichever node it comes to.
struct DeviceDemand {
  std::vector<AskingContainer> containers{};  // in the pod's order
  DeviceSelector selector{};
  DevicePolicy policy{};
  ScoreWeights weights{};
  SharingTraits traits{};
  uint8_t kind = 0;  // of devices (CandidateDevice)
};

// kBadSize where it cannot be read what a container asks for.
Result<std::vector<AskingContainer>> AskingContainersOf(const kube::Pod& pod,
                                                        const RequestRules& rules);

// What each of the containers gets. An init container has what app containers get later, and
// sidecars keep theirs, as kubelet reuses devices.
tl::expected<PodPlacement, Misfit> ChooseDevices(const DeviceDemand& demand,
                                                 std::span<const CandidateDevice> devices);

}  // namespace tessera
