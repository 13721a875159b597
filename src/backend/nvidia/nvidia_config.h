// SPDX-License-Identifier: Apache-2.0
// What the configuration says about a resource made of NVIDIA GPUs. Plain data.
#pragma once

#include <cstdint>
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
    std::string numa = {};   // the NUMA node that it is near to, a number; empty: any
    bool operator==(const Selector&) const = default;
  };

  std::string driver_root = "/";  // below it is the driver's library, as the agent sees it
  // How GPUs are found (platform.h).
  enum class Discovery : uint8_t { kAuto, kNvml, kTegra };
  Discovery discovery = Discovery::kAuto;
  std::string dev_root = "/";         // below it are the device nodes, on the host
  std::vector<Selector> select = {};  // a GPU that any of them fits; empty: every GPU
  // The profile of the MIG devices that the resource is made of, a pattern with "*"; empty: it is
  // made of whole GPUs.
  std::string mig = {};
  // What GPUs in MIG mode are to a resource of whole GPUs.
  enum class InMigMode : uint8_t {
    kLeftOut,  // nothing
    kWhole,    // whole GPUs like others
    kDevices,  // their MIG devices, as long as all GPUs are divided alike
  };
  InMigMode in_mig_mode = InMigMode::kLeftOut;

  // What an earlier resource takes: no later one has it.
  struct Claim {
    std::vector<Selector> select = {};
    std::string mig = {};
    InMigMode in_mig_mode = InMigMode::kLeftOut;
    bool operator==(const Claim&) const = default;
  };
  std::vector<Claim> earlier = {};
  // The name with "{profile}" of the family that the resource is of; empty: of none.
  std::string family = {};

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
