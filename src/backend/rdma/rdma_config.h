// SPDX-License-Identifier: Apache-2.0
// The keys of `rdma: {}`. Plain data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tessera {

// Nodes that containers get of a function, beside those of vfio and uio.
struct RdmaAccess {
  bool verbs = true;   // the nodes of its RDMA device
  bool vhost = false;  // the kernel's nodes for virtio
  bool operator==(const RdmaAccess&) const = default;
};

// A function fits if it fits all texts that are not empty.
struct RdmaSelector {
  std::string vendor{};     // "15b3"
  std::string device{};     // "101e"
  std::string driver{};     // "mlx5_core"
  std::string address{};    // "0000:af:00.1"
  std::string interface{};  // "ens3f0v0"
  // The physical function: its interface or address. "ens3f0np0#0-3,7": these of its functions.
  std::string pf{};
  std::string pf_address{};  // likewise, for one more condition
  std::string acpi_index{};  // the number that the firmware gives it: "101"
  std::string link{};        // "ether", "infiniband"
  std::string pkey{};        // of its interface: "0x8001"
  RdmaAccess access{};       // the resource's `verbs: false` and `vhost: true` count before it
  bool operator==(const RdmaSelector&) const = default;
};

// The functions of a resource.
struct RdmaChoice {
  enum class Which : uint8_t { kAny, kPhysical, kVirtual };

  std::vector<RdmaSelector> select{};  // a function fits one; empty: all fit
  Which which = Which::kAny;
  bool accelerators = false;  // processing accelerators, and no network cards
  bool verbs = true;          // only functions with an RDMA device; false: of accelerators
  // Several containers may have a function. The host then keeps its use of it. Filled in.
  bool shared = false;
  bool operator==(const RdmaChoice&) const = default;
};

struct RdmaConfig {
  // The name in the resource's variable.
  enum class Names : uint8_t {
    kAddress,  // the PCI address
    kHca,      // the RDMA device's: "mlx5_0"; the address, if it has none
  };
  // An earlier resource, which has the functions that both choose.
  struct Earlier {
    std::string resource{};
    RdmaChoice choice{};
    bool operator==(const Earlier&) const = default;
  };
  // A text in the JSON of each device, or of one.
  struct Info {
    std::string address{};  // empty: all
    std::string key{};
    std::string value{};
    bool operator==(const Info&) const = default;
  };

  RdmaChoice choice{};
  std::vector<Info> info{};  // sorted by address
  bool issm = false;         // containers may be subnet managers
  bool vhost = false;        // containers get the kernel's nodes for virtio
  bool cni = false;          // files for CNI plugins are written
  Names names = Names::kAddress;
  std::vector<Earlier> earlier{};  // filled in
  bool operator==(const RdmaConfig&) const = default;
};

}  // namespace tessera
