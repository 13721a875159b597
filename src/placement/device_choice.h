// SPDX-License-Identifier: Apache-2.0
// Which of a node's devices the containers of a pod get, and how much of each, where all of the
// node is to choose from: what a scheduler decides for a node. Pure; plain data; any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kube/objects/pod.h"
#include "placement/capacity.h"
#include "placement/placement.h"
#include "placement/requests.h"

namespace tessera {

// A device of the node, and what other pods have of it.
struct CandidateDevice {
  DeviceCapacity capacity{};
  DeviceUsage used{};
  std::string type{};  // its model
  int32_t numa = 0;
  bool healthy = true;
  bool cordoned = false;
};

// How much of all is used, of containers, memory and time together: 0 to 3.
double FullnessOf(const DeviceUsage& used, const DeviceUsage& all);
// All of a device, as something that is used.
DeviceUsage AllOf(const DeviceCapacity& capacity);

// Which of the devices that have room goes first.
enum class DevicePolicy : uint8_t {
  kBinpack,  // the fullest, of equals the one of the highest NUMA node
  kSpread,   // the emptiest, of equals likewise
};

// Which devices a pod's user wants at all. Empty: any. A type is wanted whose name has the text in
// it, in any case of letters; an id is wanted as it is.
struct DeviceSelector {
  std::vector<std::string> types{};
  std::vector<std::string> no_types{};
  std::vector<std::string> ids{};
  std::vector<std::string> no_ids{};
};

// Why a node cannot have the pod. The texts are the same for all nodes that lack the same: they are
// counted by them.
struct Misfit {
  std::string_view why;
  // Pods that end may change that.
  bool passes = false;
  bool operator==(const Misfit&) const = default;
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
  DevicePolicy policy = DevicePolicy::kSpread;
};

// kBadSize where it cannot be read what a container asks for.
Result<std::vector<AskingContainer>> AskingContainersOf(const kube::Pod& pod,
                                                        const RequestRules& rules);

// What each of the containers gets. An init container has what app containers get later, and
// sidecars keep theirs, as kubelet reuses devices.
tl::expected<PodPlacement, Misfit> ChooseDevices(const DeviceDemand& demand,
                                                 std::span<const CandidateDevice> devices);

}  // namespace tessera
