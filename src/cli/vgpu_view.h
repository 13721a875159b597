// SPDX-License-Identifier: Apache-2.0
// Virtual GPUs as people and programs read them. Pure; any thread.
#pragma once

#include <span>
#include <string>

#include "cli/command/layout.h"
#include "cli/vgpu_list.h"
#include "json/json.h"

namespace tessera::cli {

// Tables of devices and processes, and what a person should know who takes them at their word, each
// note once. Containers that have ended are shown in a view of any width alone, and marked.
std::string VgpuText(std::span<const VgpuContainer> containers, const View& view);

// Puts in what the agent's ledger knows: names of pods, and which containers kubelet has no more.
void CompareWith(const json::Value& ledger, std::span<VgpuContainer> containers);

// {"containers": [...]}.
json::Value VgpuDocument(std::span<const VgpuContainer> containers);

}  // namespace tessera::cli
