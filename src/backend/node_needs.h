// SPDX-License-Identifier: Apache-2.0
// What the devices of a kind need of the node beside themselves. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "os/files.h"

namespace tessera {

struct NodeNeed {
  enum class What : uint8_t {
    kModule,          // of the kernel
    kRuntimeHandler,  // of the container runtime, which a RuntimeClass names
  };
  What what = What::kModule;
  std::string name;
  std::string advice;  // what a person does where it is missing
};

// Those that the node lacks, each with what to do. `handlers`: those of the container runtime;
// none: nobody knows, and nothing is said of them.
std::vector<Error> MissingOn(const os::Root& root,
                             const std::optional<std::set<std::string>>& handlers,
                             std::span<const NodeNeed> needs);

}  // namespace tessera
