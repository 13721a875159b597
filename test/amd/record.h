// SPDX-License-Identifier: Apache-2.0
// What a directory has that holds a simulated node: the node's name and the changes so far. Another
// process, or a later call, takes the node over by it. Any thread, but only one for each directory.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "amd/changes.h"
#include "amd/node.h"

namespace tessera::amd {

// The content of the file .amd-node: the name, then the changes, one a line.
struct Record {
  std::string name;
  std::vector<Words> changes{};
};

// The words between white space.
Words SplitWords(const std::string& text);

// Nothing: the directory holds no node. Throws std::runtime_error.
std::optional<Record> ReadRecord(const std::string& directory);
void WriteRecord(const std::string& directory, const Record& record);
// The node whose files are there, without a change of them. Throws BadChange.
AmdNode TakeOver(const std::string& directory, const Record& record);

}  // namespace tessera::amd
