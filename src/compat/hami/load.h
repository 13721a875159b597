// SPDX-License-Identifier: Apache-2.0
// What the agent is to do in the place of HAMi's device plugin. A flag overrides a variable, which
// overrides the node's entry in config.json, which overrides device-config.yaml, which overrides
// the default of HAMi's chart; so do flags that HAMi's plugin takes and passes over. HAMi's plugin
// is NVIDIA's with more to it: whatever that one would be told holds as well.
#pragma once

#include <string>

#include "compat/hami/node_config.h"
#include "compat/nvidia/load.h"
#include "config/load.h"

namespace tessera::config::hami {

// `sources` are a device plugin's: `file` is there and HAMi's, the environment has what HAMi's
// plugin reads, and the line its flags. Any thread.
LoadResult Load(const Schema& schema, nvidia::Sources sources, const NodeConfig& node);

// The name of the node by which config.json knows it; empty: nobody says it.
std::string NodeNameOf(const nvidia::Sources& sources);

enum class Format : uint8_t { kOwn, kNvidia, kHami };
// Whose configuration the file is, by its shape: one that is like none is ours.
Format FormatOf(const Document& document);

// By whichever plugin's configuration the file is, HAMi's or NVIDIA's, which is also without one.
// One thread.
LoadResult LoadEither(const Schema& schema, nvidia::Sources sources, NodeConfigFile& nodes);

}  // namespace tessera::config::hami
