// SPDX-License-Identifier: Apache-2.0
// What sysfs says of a PCI function, and selectors by it, with which a kind names families. Caches
// nothing. Any thread; reads sysfs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "os/files.h"

namespace tessera {

// Unknown members are empty.
struct PciFunction {
  std::string vendor{};             // "15b3"
  std::string device{};             // "101e"
  std::string driver{};             // "mlx5_core"
  std::string physical_function{};  // of a virtual function: its parent, "0000:3b:00.0"
  std::string link_type{};          // of its network interface: "ether", "infiniband"
  bool operator==(const PciFunction&) const = default;
};
PciFunction ReadPciFunction(const os::Root& root, std::string_view address);

// A function fits if it fits one entry of each list; an empty list fits all.
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
