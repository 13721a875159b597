// SPDX-License-Identifier: Apache-2.0
// Why a pod waits, for people: as JSON on the scheduler's page, and as text. Pure; plain data; any
// thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "json/json.h"
#include "scheduler/refusals.h"

namespace tessera::scheduler {

struct Explanation {
  std::string pod{};     // "NAMESPACE/NAME"
  std::string state{};   // in words: "no node can have it"
  std::string leader{};  // who knows what was tried, where that is not this process
  std::optional<int64_t> tried_seconds_ago{};
  RefusalGroups groups{};          // of nodes that cannot have it now
  std::vector<std::string> fit{};  // nodes that can
  // Pods that would have to end for a node to have it; of the first nodes of which that is known.
  std::map<std::string, std::vector<std::string>> blockers{};
};

json::Value ExplanationJson(const Explanation& explanation);
// kInvalid where it is no such JSON.
Result<std::string> ExplanationText(const json::Value& page);

}  // namespace tessera::scheduler
