// SPDX-License-Identifier: Apache-2.0
// What a kind's devices need of the node besides themselves. Any thread.
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

// The needs that the node lacks, each with advice. `handlers`: the container runtime's handlers;
// nullopt: unknown, and no handler is reported.
std::vector<Error> MissingOn(const os::Root& root,
                             const std::optional<std::set<std::string>>& handlers,
                             std::span<const NodeNeed> needs);

}  // namespace tessera
