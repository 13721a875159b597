// SPDX-License-Identifier: Apache-2.0
// The types of the node's conditions that agents of a state directory have put there and not taken
// away again: the one that the configuration no longer names is found by it. For the writer of the
// state. Any thread.
#pragma once

#include <set>
#include <string>

#include "base/result.h"

namespace tessera {

Result<std::set<std::string>> RecordedConditions(const std::string& state_dir);
Status RecordConditions(const std::string& state_dir, const std::set<std::string>& types);

}  // namespace tessera
