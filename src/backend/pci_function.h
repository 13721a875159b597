// SPDX-License-Identifier: Apache-2.0
// What sysfs says of a PCI function, and selectors by it: how a kind names families of its devices.
// Nothing is cached; any thread; it reads files of the kernel.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "os/files.h"

namespace tessera {

// What is not known is empty.
struct PciFunction {
  std::string vendor{};             // "15b3"
  std::string device{};             // "101e"
  std::string driver{};             // "mlx5_core"
  std::string physical_function{};  // of a virtual one, its address: "0000:3b:00.0"
  std::string link_type{};          // of its network interface: "ether", "infiniband"
  bool operator==(const PciFunction&) const = default;
};
PciFunction ReadPciFunction(const os::Root& root, std::string_view address);

// Of each list one must fit; an empty list fits all.
struct PciSelector {
  std::vector<std::string> vendors{};
  std::vector<std::string> devices{};
  std::vector<std::string> drivers{};
  std::vector<std::string> physical_functions{};
  std::vector<std::string> link_types{};
  bool operator==(const PciSelector&) const = default;
};
bool Selects(const PciSelector& selector, const PciFunction& function);

}  // namespace tessera
