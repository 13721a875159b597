// SPDX-License-Identifier: Apache-2.0
// Virtual GPUs as text for people and as a document for programs. Pure; any thread.
#pragma once

#include <span>
#include <string>

#include "cli/command/layout.h"
#include "cli/vgpu_list.h"
#include "json/json.h"

namespace tessera::cli {

// Tables of devices and processes, with notes on their limits, each once. Ended containers are
// shown, marked, only in a view of any width.
std::string VgpuText(std::span<const VgpuContainer> containers, const View& view);

// Adds the ledger's knowledge: names of pods, and containers that kubelet no longer has.
void CompareWith(const json::Value& ledger, std::span<VgpuContainer> containers);

// {"containers": [...]}.
json::Value VgpuDocument(std::span<const VgpuContainer> containers);

}  // namespace tessera::cli
