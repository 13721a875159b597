// SPDX-License-Identifier: Apache-2.0
// Writes a named node's files for tests in other languages, and changes those of a former run.
#include <cstdio>
#include <exception>

#include "ascend/changes.h"

namespace tessera::ascend {
namespace {

void Run(const Words& arguments) {
  if (arguments.size() < 2) throw BadChange("DIR and NAME are needed");
  const std::string& directory = arguments[0];
  const SimNode named = NamedNode(arguments[1]);
  const std::vector<Words> changes = ParseChanges({arguments.begin() + 2, arguments.end()});
  AscendNode node = ReadText(directory + kDescriptionPath).empty() ? AscendNode(directory, named)
                                                                   : AscendNode(directory);
  for (const Words& change : changes) Apply(node, change);
}

}  // namespace
}  // namespace tessera::ascend

int main(int argc, char** argv) {
  using namespace tessera::ascend;
  try {
    Run({argv + 1, argv + argc});
  } catch (const BadChange& error) {
    fprintf(stderr, "ascend_tree: %s\nusage: ascend_tree DIR NAME [CHANGE ARGUMENT...]...\n%s",
            error.what(), ChangesUsage().c_str());
    return 2;
  } catch (const std::exception& error) {
    fprintf(stderr, "ascend_tree: %s\n", error.what());
    return 1;
  }
  return 0;
}
