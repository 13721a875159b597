// SPDX-License-Identifier: Apache-2.0
// Changes of a simulated node as words: "vfs 0000:af:00.0 4". A directory with a node has a file
// with its name and the changes so far, by which a later process takes it over. Any thread, but
// only one for each directory.
#pragma once

#include <string>
#include <vector>

#include "rdma/node.h"

namespace tessera::rdma {

using Words = std::vector<std::string>;

// One line for each change, with its arguments.
std::string ChangesUsage();
// Divides the words into changes with their arguments. Throws BadChange.
std::vector<Words> ParseChanges(const Words& words);
// The name of the directory's node. Throws std::exception if it has none.
std::string NameIn(const std::string& directory);
// The directory's node as these changes would leave it; they are not made. Throws BadChange, and
// std::exception.
SimNode NodeAfter(const std::string& directory, const std::vector<Words>& changes);
// Writes the named node into the directory, or takes it over, then makes the changes. Throws
// BadChange and std::runtime_error.
void ChangeTree(const std::string& directory, const std::string& name, const Words& words);

}  // namespace tessera::rdma
