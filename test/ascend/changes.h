// SPDX-License-Identifier: Apache-2.0
// Changes of a simulated node as words: "health 2 3 0x80E01801". Any thread, but only one for each
// directory.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "ascend/node.h"

namespace tessera::ascend {

using Words = std::vector<std::string>;

// One line for each change, with its arguments.
std::string ChangesUsage();
// Divides the words into changes with their arguments. Throws BadChange.
std::vector<Words> ParseChanges(const Words& words);
// The chip that a change names by its place. Nothing: it is about all. Throws BadChange.
std::optional<size_t> ChipOf(const Words& change, const SimNode& node);
// Throws BadChange if the node has no such chip or vNPU.
void Apply(AscendNode& node, const Words& change);

}  // namespace tessera::ascend
