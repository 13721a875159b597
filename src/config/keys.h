// SPDX-License-Identifier: Apache-2.0
// The parts of the schema's table.
#pragma once

#include <vector>

#include "config/schema.h"

namespace tessera::config {

// The place of the first level's keys.
inline constexpr auto kTop = [](auto& config, const At&) -> auto& { return config; };

// The settings of the agent as a whole: every key but `resources`.
std::vector<Key> AgentKeys();
// `kinds` outlives it.
Key ResourcesKey(const Kinds& kinds);

}  // namespace tessera::config
