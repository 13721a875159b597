// SPDX-License-Identifier: Apache-2.0
// Why a pod waits: as JSON on the scheduler's page, and as text. Pure. Plain data. Any thread.
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
  std::string pod{};    // "NAMESPACE/NAME"
  std::string state{};  // for people
  // The leader if it is another process; only the leader knows the tries.
  std::string leader{};
  std::optional<int64_t> tried_seconds_ago{};
  RefusalGroups groups{};          // nodes that do not fit, by reason
  std::vector<std::string> fit{};  // nodes that fit
  // By node: the pods that must end before the pod fits. Covers only the first nodes.
  std::map<std::string, std::vector<std::string>> blockers{};
};

json::Value ExplanationJson(const Explanation& explanation);
// kInvalid if `page` is not an explanation.
Result<std::string> ExplanationText(const json::Value& page);

}  // namespace tessera::scheduler
