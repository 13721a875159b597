// SPDX-License-Identifier: Apache-2.0
// What a kind of device has to say of the node in Kubernetes labels.
#pragma once

#include <map>
#include <string>

#include "base/result.h"

namespace tessera {

// By key: "nvidia.com/gpu.count" -> "8".
using Labels = std::map<std::string, std::string>;

// One thread at a time, any.
class Labeller {
 public:
  virtual ~Labeller() = default;
  // All labels of now. May take some seconds, or as long as a vendor's library takes to open. An
  // error: nothing can be told now, and what was told before still is.
  virtual Result<Labels> Read() = 0;
  // Those of a node that has none of the devices.
  virtual Labels WithoutDevices() = 0;
};

}  // namespace tessera
