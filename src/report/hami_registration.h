// SPDX-License-Identifier: Apache-2.0
// The node's registration with HAMi's scheduler, as annotations. It lists the devices with
// fractions of requested sizes (FractionRules::registration) and how close they are to each other.
// Pure; any thread.
#pragma once

#include <optional>
#include <set>
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
  std::optional<std::string> scores{};  // hami::Vendor::node_score; nothing: no such annotation
  // Write the handshake at each check of the node. Schedulers up to 2.7 drop nodes without it.
  // Later ones write it themselves, and no plugin may.
  bool reports = false;
  // Pairs of GPUs whose links differ by direction, "GPU-a and GPU-b". Only with scores.
  std::vector<std::string> asymmetric{};
  // Grants are late grants and need no node lock, so our scheduler does not take it
  // (placement/agent_mark.h).
  bool late_bound = false;
  // The agent fits pods that no scheduler has placed; the mark says so too.
  bool fits_unplaced = false;
  const hami::Vendor* vendor = &hami::kNvidia;  // of the devices
  bool operator==(const HamiRegistration&) const = default;
};

// True if the GPUs of this resource are registered.
bool IsRegistered(const config::Resource& resource);

// The devices of all registered resources; nothing if there is no such resource. A device that is
// out, cordoned, lost or kept by a former policy is registered as unhealthy, so that it gets no
// more pods. A device of unknown memory is left out.
std::optional<HamiRegistration> RegistrationOf(const Node& node,
                                               const std::vector<config::Resource>& resources);

// Vendors whose devices the agent registers, or has registered. They last for ever.
using HamiVendors = std::vector<const hami::Vendor*>;
HamiVendors HamiVendorsOf(const std::set<std::string>& words);
// Whether the node has devices of these vendors.
bool HasRegistration(const HamiVendors& vendors, const json::Value& node);

// The merge patch that gives `node` these annotations and removes those of `former`; nothing if
// that is so. `running`: how long the agent has run.
std::optional<json::Value> RegistrationPatch(const HamiRegistration& wanted,
                                             const HamiVendors& former, const json::Value& node,
                                             Wall now, Duration running);
// The merge patch that removes the agent's mark and the annotations of these vendors; nothing if
// there are none. Of handshakes, only a plugin's is removed.
std::optional<json::Value> RegistrationRemoval(const HamiVendors& vendors, const json::Value& node);

}  // namespace tessera
