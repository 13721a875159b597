// SPDX-License-Identifier: Apache-2.0
// The file of Mellanox's plugin for shared RDMA devices, as a configuration that does the same.
// Pure; any thread.
#pragma once

#include <string>
#include <vector>

#include "config/schema/problem.h"
#include "config/schema/yaml.h"

namespace tessera::config::rdma_shared {

struct Translated {
  std::string yaml{};               // valid only without errors
  std::vector<Problem> errors{};    // all of them, in the order of the file
  std::vector<Problem> warnings{};  // what has no effect, or another one
};
Translated Translate(Document document);

}  // namespace tessera::config::rdma_shared
