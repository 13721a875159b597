// SPDX-License-Identifier: Apache-2.0
// Writes a named node's files for tests in other languages, and changes those of a former run.
#include <fmt/core.h>

#include <cstdio>
#include <exception>

#include "rdma/changes.h"

int main(int argc, char** argv) {
  using tessera::rdma::BadChange;
  try {
    const tessera::rdma::Words words(argv + 1, argv + argc);
    if (words.size() < 2) throw BadChange("DIR and NAME are needed");
    tessera::rdma::ChangeTree(words[0], words[1], {words.begin() + 2, words.end()});
  } catch (const BadChange& error) {
    fmt::print(stderr, "rdma_tree: {}\nusage: rdma_tree DIR NAME [CHANGE ARGUMENT...]...\n{}",
               error.what(), tessera::rdma::ChangesUsage());
    return 2;
  } catch (const std::exception& error) {
    fmt::print(stderr, "rdma_tree: {}\n", error.what());
    return 1;
  }
  return 0;
}
