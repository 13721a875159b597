// SPDX-License-Identifier: Apache-2.0
// Which functions a resource has, and why it has not the others. Pure; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backend/rdma/functions.h"
#include "backend/rdma/host_network.h"
#include "backend/rdma/rdma_config.h"

namespace tessera::rdma {

// RdmaSelector::pf as parsed: "ens3f0np0#0-3,7".
struct PfSelector {
  std::string name{};                          // of the interface, or the address
  std::vector<std::pair<int, int>> indices{};  // first and last; empty: all, and the card itself
  bool operator==(const PfSelector&) const = default;
};
// Nothing: the text is none.
std::optional<PfSelector> ParsePf(std::string_view text);

// What the resource, and those before it, choose by.
Details DetailsOf(const RdmaConfig& config);

struct Fit {
  bool fits = false;
  int passed = 0;       // conditions that it fits
  std::string why{};    // the first one that it does not: "its driver is vfio-pci, not mlx5_core"
  RdmaAccess access{};  // by the first entry that it fits; `vhost` without the resource's
};
Fit FitOf(const RdmaChoice& choice, const Function& function,
          const std::vector<Function>& functions, const HostNetwork& host);
// By the resource's own choice, if no earlier resource has the function. `access` is what its
// containers get, by the resource as well. A card that a CNI plugin would take from the host is
// left out while the host's routes are not known.
Fit FitOf(const RdmaConfig& config, const Function& function,
          const std::vector<Function>& functions, const HostNetwork& host);

}  // namespace tessera::rdma
