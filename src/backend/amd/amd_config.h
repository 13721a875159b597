// SPDX-License-Identifier: Apache-2.0
// The keys of `amd: {}`. Plain data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "grant/fraction.h"
#include "hami/vendor.h"

namespace tessera {

struct AmdConfig {
  // What a device's id is made of, before the number of its partition.
  enum class Ids : uint8_t {
    kAddress,  // the GPU's PCI address
    kUuid,     // AMD SMI's UUID; the address, where the GPU has no serial number
  };
  // The name in the resource's variable.
  enum class Names : uint8_t {
    kUuid,     // ROCm's: "GPU-" and the serial number
    kIndex,    // the number among the node's GPUs, or among its partitions
    kToolkit,  // as AMD's container toolkit reads it: a GPU's serial number, a partition's number
  };

  // A GPU that is not offered.
  struct Excluded {
    std::string address{};  // "0000:05:00.0"
    bool operator==(const Excluded&) const = default;
  };

  // "spx_nps1": only devices that are divided so. Empty: all devices.
  std::string profile{};
  // The family's name in a resource that stands for several profiles; empty: none. Filled in.
  std::string family{};
  std::vector<Excluded> exclude{};
  Ids ids = Ids::kAddress;
  Names names = Names::kUuid;
  // The socket of AMD's metrics exporter, or "off".
  std::string exporter = "/var/lib/amd-metrics-exporter/amdgpu_device_metrics_exporter_grpc.socket";
  // Virtual GPUs: parts of a GPU's compute units and memory, by the requests of pods.
  struct Vgpu {
    bool on = false;                                       // the resource's policy is vgpu
    std::string directory = "/usr/local/vgpu";             // the agent's, on the host
    std::string library = "/usr/local/vgpu/libamvgpu.so";  // on the host
    FractionRequests requests = UsualRequests();
    bool registered = true;  // with HAMi's scheduler
    bool operator==(const Vgpu&) const = default;

    // A pod that asks for no compute units gets all.
    static FractionRequests UsualRequests() {
      FractionRequests requests = hami::kAmd.Requests();
      requests.default_cores = kAllCores;
      return requests;
    }
  };
  Vgpu vgpu{};
  bool operator==(const AmdConfig&) const = default;
};

}  // namespace tessera
