// SPDX-License-Identifier: Apache-2.0
// The names that the kernel has for network functions: on the PCI bus, in its classes and in /dev.
// They change when a function, its driver or a face of it does. One look at a class costs less than
// one at each function. Source: Documentation/ABI/{stable/sysfs-class-infiniband,
// testing/sysfs-class-net} of Linux. Plain data; any thread; reads sysfs.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "os/files.h"

namespace tessera::rdma {

// A member of a class, such as the interface "ens3f0v0".
struct Face {
  std::string function{};  // the address of the function that has it; empty: another device
  std::string name{};
  auto operator<=>(const Face&) const = default;
};

// All sorted.
struct Names {
  std::vector<std::string> functions{};   // the addresses of all functions of the bus
  std::vector<Face> interfaces{};         // of hardware; a pod's are none, and come all the time
  std::vector<std::string> hcas{};        // RDMA devices: "mlx5_2"
  std::vector<std::string> verbs{};       // "uverbs2"
  std::vector<std::string> mads{};        // "umad2", "issm2"
  std::vector<std::string> uios{};        // "uio0"
  std::vector<std::string> infiniband{};  // nodes in /dev/infiniband
  std::vector<std::string> vfio{};        // nodes in /dev/vfio
  bool operator==(const Names&) const = default;
};

// The address in a link of a class such as "../../devices/pci0000:ae/0000:af:00.1/net/ens3f0v0".
// Empty: there is a device between the function and its face, or none at all.
std::string_view FunctionIn(std::string_view link, std::string_view of_class);

// Cheap. An error: there is a bus, and it cannot be read. By several threads, if it is urgent and
// there are many functions.
Result<Names> ReadNames(const os::Root& root, bool is_urgent = false);

// The functions of a class's members, sorted. Members that have gone are left out.
std::vector<Face> ReadFaces(const os::Root& root, std::string_view of_class,
                            std::span<const std::string> members);
// The names of a function's faces.
std::vector<std::string> NamesOf(std::span<const Face> faces, std::string_view function);

}  // namespace tessera::rdma
