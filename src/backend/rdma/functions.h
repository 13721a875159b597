// SPDX-License-Identifier: Apache-2.0
// The network functions of the PCI bus, with the names that the kernel's classes give each: its
// interfaces, its RDMA device and that device's nodes. All but the address may change with a
// driver. Source: Documentation/ABI/{stable/sysfs-class-infiniband,testing/sysfs-bus-pci,
// testing/sysfs-class-net} of Linux. Plain data; any thread; reads sysfs.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/rdma/names.h"
#include "backend/sysfs.h"
#include "base/result.h"
#include "os/files.h"

namespace tessera::rdma {

// Unknown texts are empty.
struct Function {
  std::string address{};     // "0000:af:00.1"
  std::string vendor{};      // "15b3"
  std::string device{};      // "101c"
  std::string driver{};      // "mlx5_core"; empty: it has none
  std::string physical{};    // of a virtual function: the address of its physical one
  int index = -1;            // of a virtual function: its number in that one; -1: unknown
  int functions = 0;         // virtual ones that it has
  std::string acpi_index{};  // "101"; most have none
  std::optional<int> numa{};
  std::string pci_path{};  // as DeviceTraits has it
  std::optional<int> iommu_group{};
  // None: they are in other network namespaces. The kind keeps those that it has seen.
  std::vector<std::string> interfaces{};
  std::string master{};  // the interface that one of them is a part of: a bond, a bridge
  std::string link{};    // "ether", "infiniband"
  std::string pkey{};    // of an interface of InfiniBand
  std::string hca{};     // the RDMA device: "mlx5_2"
  std::vector<std::string> verbs{};  // nodes in /dev/infiniband: "uverbs2"
  std::vector<std::string> mads{};   // "umad2"
  std::vector<std::string> issms{};  // "issm2"
  std::vector<std::string> uios{};   // nodes in /dev: "uio0"
  bool is_accelerator = false;       // and no network card
  bool is_network = true;            // false: its class cannot be read
  std::optional<Error> trouble{};    // it is there and cannot be read
  bool operator==(const Function&) const = default;

  bool IsVirtual() const { return !physical.empty(); }
  std::string Directory() const { return DirectoryOf(address); }
  static std::string DirectoryOf(std::string_view address);  // in sysfs
};

// What not every resource needs to know. Each costs a look at each function, and stays unknown
// without it.
struct Details {
  bool links = true;    // of virtual functions; those of others are always read
  bool numbers = true;  // Function::index
  bool issms = true;
  bool acpi_indices = true;
  bool accelerators = true;  // all of the bus, besides network cards
  bool operator==(const Details&) const = default;
};

// In the order of their addresses. Asks no function on its bus, as one that hangs would cost all.
std::vector<Function> ReadFunctions(const os::Root& root, const Names& names,
                                    const Details& details = {});
// Null: there is none. The functions are those of ReadFunctions.
const Function* Find(const std::vector<Function>& functions, std::string_view address);

// Whether the function, whose directory this is, does not answer. One that sleeps is not asked.
bool IsLost(const sysfs::Directory& function);

}  // namespace tessera::rdma
