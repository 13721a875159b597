// SPDX-License-Identifier: Apache-2.0
// What the configuration says about a resource made of NVIDIA GPUs. Plain data.
#pragma once

#include <string>
#include <vector>

#include "backend/nvidia/xid.h"

namespace tessera {

struct NvidiaConfig {
  // Which GPUs: all that it says must hold.
  struct Selector {
    std::string index = {};  // NVML's, a number; empty: any
    std::string uuid = {};   // empty: any
    std::string model = {};  // a pattern with "*"; empty: any
    bool operator==(const Selector&) const = default;
  };

  std::string driver_root = "/";      // below it is the driver's library, as the agent sees it
  std::string dev_root = "/";         // below it are the device nodes, on the host
  std::vector<Selector> select = {};  // a GPU that any of them fits; empty: every GPU
  // The profile of the MIG devices that the resource is made of, a pattern with "*"; empty: it is
  // made of whole GPUs.
  std::string mig = {};

  // What XIDs mean here, where that is not what xid.def says.
  struct XidRule {
    int xid = 0;
    nvidia::XidClass xid_class = nvidia::XidClass::kRecover;
    bool operator==(const XidRule&) const = default;
  };
  std::vector<XidRule> xids = {};
  // How long a GPU stays out after the last XID of these classes, whatever its checks say.
  struct Probation {
    Duration recover = nvidia::XidPolicy().recover_probation;
    Duration reset = nvidia::XidPolicy().reset_probation;
    bool operator==(const Probation&) const = default;
  };
  Probation probation = {};
  bool operator==(const NvidiaConfig&) const = default;
};

}  // namespace tessera
