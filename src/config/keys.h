// SPDX-License-Identifier: Apache-2.0
// The parts the table is put together from.
#pragma once

#include <vector>

#include "config/schema.h"

namespace tessera::config {

// Where the keys of the first level stand.
inline constexpr auto kTop = [](auto& config, const At&) -> auto& { return config; };

// Everything but resources: the settings of the agent as a whole.
std::vector<Key> AgentKeys();
// `kinds` outlives it.
Key ResourcesKey(const Kinds& kinds);

}  // namespace tessera::config
