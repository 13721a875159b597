// SPDX-License-Identifier: Apache-2.0
// Changes of a simulated node as words: "compute 0 CPX", "ras 2 umc 1 0". Any thread.
#pragma once

#include <string>
#include <vector>

#include "amd/node.h"

namespace tessera::amd {

using Words = std::vector<std::string>;

// One line for each change, with its arguments.
std::string ChangesUsage();
// Divides the words into changes with their arguments. Throws BadChange.
std::vector<Words> ParseChanges(const Words& words);
// Throws BadChange if the node has no such GPU, mode, or block.
void Apply(AmdNode& node, const Words& change);

}  // namespace tessera::amd
