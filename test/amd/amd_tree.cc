// SPDX-License-Identifier: Apache-2.0
// Writes a named node's files for tests in other languages, and changes those of a former run.
#include <fmt/core.h>

#include <cstdio>
#include <exception>
#include <optional>

#include "amd/changes.h"
#include "amd/node.h"
#include "amd/record.h"

namespace tessera::amd {
namespace {

void Run(const Words& arguments) {
  if (arguments.size() < 2) throw BadChange("DIR and NAME are needed");
  const std::string& directory = arguments[0];
  const std::vector<Words> changes = ParseChanges({arguments.begin() + 2, arguments.end()});
  const std::optional<Record> former = ReadRecord(directory);
  Record record = former.value_or(Record{arguments[1], {}});
  if (record.name != arguments[1]) {
    throw BadChange(fmt::format("{} has the node {}", directory, record.name));
  }
  AmdNode node = former ? TakeOver(directory, record) : AmdNode(directory, NamedNode(record.name));
  WriteRecord(directory, record);
  for (const Words& change : changes) {
    Apply(node, change);
    record.changes.push_back(change);
    WriteRecord(directory, record);
  }
}

}  // namespace
}  // namespace tessera::amd

int main(int argc, char** argv) {
  try {
    tessera::amd::Run({argv + 1, argv + argc});
  } catch (const tessera::amd::BadChange& error) {
    fmt::print(stderr, "amd_tree: {}\nusage: amd_tree DIR NAME [CHANGE ARGUMENT...]...\n{}",
               error.what(), tessera::amd::ChangesUsage());
    return 2;
  } catch (const std::exception& error) {
    fmt::print(stderr, "amd_tree: {}\n", error.what());
    return 1;
  }
  return 0;
}
