// SPDX-License-Identifier: Apache-2.0
// Removes files and API objects that agents keep on purpose, from a node that will have no agent.
// On disk: CDI documents, files of virtual GPUs, the feature file. At the API server: the labels,
// the condition and the registration with a scheduler. Events and the rest of the state directory
// stay. Called when no agent runs. One thread; waits for the API server.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/schema/config.h"
#include "ledger/ledger.h"
#include "report/api_server.h"

namespace tessera::agent {

// One removed thing. `error`: why it could not be removed; nothing: it is gone.
struct Removal {
  std::string what;
  std::optional<Error> error{};
};

// Containers with virtual GPUs of ours, as "container app of pod <uid>". After an Uninstall no
// runtime could make them again. Reads kubelet's checkpoint, and leaves out containers that
// kubelet's pod-resources API does not list. If that API does not answer, all count. Fails if the
// checkpoint exists but cannot be read.
Result<std::vector<std::string>> ContainersWithGrants(const config::Config& config);
// The same, with the answer of the pod-resources API given.
Result<std::vector<std::string>> ContainersWithGrants(const config::Config& config,
                                                      const Result<std::vector<Holding>>& holdings);

std::vector<Removal> Uninstall(const config::Config& config, const std::optional<ApiTarget>& api);

}  // namespace tessera::agent
