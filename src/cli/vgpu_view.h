// SPDX-License-Identifier: Apache-2.0
// Virtual GPUs as people and programs read them. Pure; any thread.
#pragma once

#include <span>
#include <string>

#include "cli/layout.h"
#include "cli/vgpu_list.h"
#include "json/json.h"

namespace tessera::cli {

// Tables of devices and processes, and what a person should know who takes them at their word.
std::string VgpuText(std::span<const VgpuContainer> containers, const View& view);

// Puts in the names of pods that the agent's ledger knows.
void NamePods(const json::Value& ledger, std::span<VgpuContainer> containers);

// {"containers": [...]}.
json::Value VgpuDocument(std::span<const VgpuContainer> containers);

}  // namespace tessera::cli
