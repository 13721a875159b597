// SPDX-License-Identifier: Apache-2.0
// What a kind of device says of the node, as Kubernetes labels. Owned by who made it (LabelMaker).
#pragma once

#include <map>
#include <string>

#include "base/result.h"

namespace tessera {

// By key: "nvidia.com/gpu.count" -> "8".
using Labels = std::map<std::string, std::string>;

// Called by one thread at a time, on any thread.
class Labeller {
 public:
  virtual ~Labeller() = default;
  // All labels at present. May take some seconds, or as long as a vendor's library takes to open.
  // After an error the former labels stay.
  virtual Result<Labels> Read() = 0;
  // The labels of a node without such devices.
  virtual Labels WithoutDevices() = 0;
};

}  // namespace tessera
