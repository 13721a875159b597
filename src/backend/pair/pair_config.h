// SPDX-License-Identifier: Apache-2.0
// The configuration of pairs. Plain data.
#pragma once

#include <string>

namespace tessera {

struct PairConfig {
  std::string gpu;  // the names of the resources whose devices are paired
  std::string nic;
  bool operator==(const PairConfig&) const = default;
};

}  // namespace tessera
