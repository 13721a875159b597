// SPDX-License-Identifier: Apache-2.0
// Loads the configuration for an agent that replaces HAMi's device plugin. A flag overrides a
// variable, which overrides the node's entry in config.json. That overrides device-config.yaml,
// which overrides the default of HAMi's chart. Flags that HAMi's plugin ignores count too. HAMi's
// plugin extends NVIDIA's, so NVIDIA's settings apply as well.
#pragma once

#include <string>

#include "compat/hami/node_config.h"
#include "compat/nvidia/load.h"
#include "config/load.h"

namespace tessera::config::hami {

// `sources`: those of a device plugin. The file is HAMi's; environment and line are those of HAMi's
// plugin. Any thread.
LoadResult Load(const Schema& schema, nvidia::Sources sources, const NodeConfig& node);

// The node's name in config.json; empty: unknown.
std::string NodeNameOf(const nvidia::Sources& sources);

enum class Format : uint8_t { kOwn, kNvidia, kHami };
// The file's format by its shape; a file like none of them is ours.
Format FormatOf(const Document& document);

// Loads a file of HAMi's or NVIDIA's plugin, by its shape. Without a file NVIDIA's rules apply. One
// thread.
LoadResult LoadEither(const Schema& schema, nvidia::Sources sources, NodeConfigFile& nodes);

}  // namespace tessera::config::hami
