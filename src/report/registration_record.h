// SPDX-License-Identifier: Apache-2.0
// A record, in the state directory, of the vendors whose annotations of HAMi's agents have set on
// the node and not removed, by the vendors' words (hami::Vendor::word). All other such annotations
// are another plugin's, and stay. For the writer of the state. Any thread.
#pragma once

#include <set>
#include <string>

#include "base/result.h"

namespace tessera {

Result<std::set<std::string>> RecordedRegistrations(const std::string& state_dir);
Status RecordRegistrations(const std::string& state_dir, const std::set<std::string>& words);

}  // namespace tessera
