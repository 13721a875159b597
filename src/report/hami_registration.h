// SPDX-License-Identifier: Apache-2.0
// What HAMi's scheduler is told of the node: the devices of which a pod's part is as large as the
// pod asks for (FractionRules::registration), and how close they are to each other, as annotations
// of the node. Pure; any thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "config/schema/config.h"
#include "hami/vendor.h"
#include "json/json.h"
#include "node/node.h"

namespace tessera {

// Values of annotations.
struct HamiRegistration {
  std::string devices;                  // hami::Vendor::node_register
  std::optional<std::string> scores{};  // hami::Vendor::node_score; nothing: there is to be none
  // Each look at the node writes the handshake: a scheduler up to 2.7 gives nodes up without it.
  // Later ones write it themselves, and nobody else.
  bool reports = false;
  // Pairs of GPUs that have other links one way than the other, "GPU-a and GPU-b": with scores.
  std::vector<std::string> asymmetric{};
  // Grants need no lock of the node: a scheduler of ours does not take it (placement/agent_mark.h).
  bool late_bound = false;
  // Pods that no scheduler has placed are fitted in; the mark says that, too.
  bool fits_unplaced = false;
  const hami::Vendor* vendor = &hami::kNvidia;  // whose devices they are
  bool operator==(const HamiRegistration&) const = default;
};

// Whether the GPUs of this resource are registered.
bool IsRegistered(const config::Resource& resource);

// The devices of all resources that are registered, by their number; nothing where there is no such
// resource. One that is out, cordoned, lost, or still held by shares of a former policy is there
// without health, so that it gets no more pods; one whose memory is not known is left out.
std::optional<HamiRegistration> RegistrationOf(const Node& node,
                                               const std::vector<config::Resource>& resources);

// What makes the node, as the API server has it, have these annotations: a merge patch; nothing
// where it has them. `running`: for how long the agent has.
std::optional<json::Value> RegistrationPatch(const HamiRegistration& wanted,
                                             const json::Value& node, Wall now, Duration running);
// What takes all of them away, of handshakes a plugin's alone; nothing where there are none.
std::optional<json::Value> RegistrationRemoval(const json::Value& node);

}  // namespace tessera
