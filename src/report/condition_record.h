// SPDX-License-Identifier: Apache-2.0
// A record, in the state directory, of the condition types that agents have set on the node and not
// removed. It finds a condition that the configuration no longer names. For the writer of the
// state. Any thread.
#pragma once

#include <set>
#include <string>

#include "base/result.h"

namespace tessera {

Result<std::set<std::string>> RecordedConditions(const std::string& state_dir);
Status RecordConditions(const std::string& state_dir, const std::set<std::string>& types);

}  // namespace tessera
