// SPDX-License-Identifier: Apache-2.0
// Takes away what agents leave behind on purpose, for a node that is to have none any more: CDI
// documents, what grants of virtual GPUs left, the feature file, and at the API server the labels,
// the condition and the registration with a scheduler. Events and the rest of the state
// directory stay. To be called once no agent runs. One thread; waits for the API server.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/schema/config.h"
#include "ledger/ledger.h"
#include "report/api_server.h"

namespace tessera::agent {

// One thing, and why it could not be taken away; nothing: it is gone.
struct Removal {
  std::string what;
  std::optional<Error> error{};
};

// Containers that have virtual GPUs by grants of ours, "container app of pod <uid>": without what
// is taken away they could not be made again. By kubelet's checkpoint, but for those that are gone
// by its pod-resources API; where that does not answer, all count. Fails where the checkpoint is
// there and cannot be read.
Result<std::vector<std::string>> ContainersWithGrants(const config::Config& config);
// By what pod-resources has said.
Result<std::vector<std::string>> ContainersWithGrants(const config::Config& config,
                                                      const Result<std::vector<Holding>>& holdings);

std::vector<Removal> Uninstall(const config::Config& config, const std::optional<ApiTarget>& api);

}  // namespace tessera::agent
