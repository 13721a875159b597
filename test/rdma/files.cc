// SPDX-License-Identifier: Apache-2.0
// The PCI bus, its drivers, interfaces, RDMA devices and device nodes.
#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <string>

#include "rdma/state.h"

namespace tessera::rdma {
namespace {

constexpr char kPci[] = "/sys/bus/pci";
constexpr char kBond[] = "/sys/devices/virtual/net/bond0";
constexpr char kInfiniband[] = "/sys/class/infiniband";

// The ids and the class of a function, "0x15b3".
void AddIdentity(amd::Tree& tree, const std::string& device, const std::string& vendor,
                 const std::string& id, const std::string& pci_class) {
  tree.AddLine(device + "/vendor", vendor);
  tree.AddLine(device + "/device", id);
  tree.AddLine(device + "/class", pci_class);
}

std::string AddBridges(amd::Tree& tree, const std::vector<std::string>& bridges) {
  std::string path = "/sys/devices";
  for (const std::string& bridge : bridges) {
    path += "/" + bridge;
    tree.AddDirectory(path);
    if (bridge.starts_with("pci")) continue;  // a root complex is no function
    AddIdentity(tree, path, "0x8086", "0x2030", "0x060400");
    tree.AddLink(fmt::format("{}/devices/{}", kPci, bridge), path);
  }
  return path;
}

std::string NumaText(std::optional<int> numa) {
  return std::to_string(numa.value_or(-1));
}

// The port of a function, as its files say.
struct Port {
  std::string state, physical;
  bool has_carrier = true;
};

Port PortOf(const SimNodeState& node, const SimPlace& function) {
  const auto cable = node.cables.find(function.nic->address);
  if (!function.state->is_up) return {"1: DOWN", "3: Disabled", false};
  if (cable != node.cables.end() && !cable->second) {
    // Drivers of Ethernet derive the physical state from the carrier.
    return {"1: DOWN", function.nic->is_infiniband ? "2: Polling" : "3: Disabled", false};
  }
  if (function.nic->is_infiniband && !node.has_subnet_manager) {
    return {"2: INIT", "5: LinkUp", true};
  }
  return {"4: ACTIVE", "5: LinkUp", true};
}

bool IsBonded(const SimNodeState& node, const std::string& address) {
  return std::ranges::any_of(node.bonds, [&](const auto& bond) {
    return bond.first == address || bond.second == address;
  });
}

std::string InterfaceOf(const SimPlace& function) {
  if (function.vf < 0) return function.nic->interface;
  const std::string& name = function.nic->interface;
  return fmt::format("{}v{}", name.substr(0, name.rfind("np")), function.vf);
}

bool HasInterface(const SimNodeState& node, const SimPlace& function) {
  return !function.nic->interface.empty() && !function.state->is_away && node.IsDriven(function);
}

// Of an interface, in Mb/s; -1: it has no carrier.
std::string SpeedOf(const SimPlace& function, const Port& port) {
  return !port.has_carrier ? "-1" : function.nic->is_infiniband ? "200000" : "100000";
}

void AddInterface(amd::Tree& tree, const SimNodeState& node, const SimPlace& function,
                  const std::string& device) {
  if (!HasInterface(node, function)) return;
  const std::string name = InterfaceOf(function);
  const std::string directory = fmt::format("{}/net/{}", device, name);
  const Port port = PortOf(node, function);
  tree.AddLine(directory + "/type", function.nic->is_infiniband ? "32" : "1");
  tree.AddLine(directory + "/operstate", port.has_carrier ? "up" : "down");
  tree.AddLine(directory + "/flags", function.state->is_up ? "0x1003" : "0x1002");
  // The kernel refuses to say while the interface is down.
  tree.AddFile(directory + "/carrier", !function.state->is_up ? ""
                                       : port.has_carrier     ? "1\n"
                                                              : "0\n");
  tree.AddLink(directory + "/device", device);
  tree.AddLine(directory + "/dev_port", "0");
  tree.AddLine(directory + "/dev_id", "0x0");
  tree.AddLine(directory + "/speed", SpeedOf(function, port));
  tree.AddLine(directory + "/mtu", function.nic->is_infiniband ? "4092" : "1500");
  tree.AddLine(directory + "/address", "b8:59:9f:a1:0b:2c");
  if (function.nic->is_infiniband) tree.AddLine(directory + "/pkey", "0xffff");
  if (function.vf < 0) tree.AddLine(directory + "/phys_port_name", "p0");
  tree.AddLink(directory + "/device", device);
  if (function.vf < 0 && IsBonded(node, function.address)) {
    tree.AddLink(directory + "/master", kBond);
  }
  tree.AddLink("/sys/class/net/" + name, directory);
}

void AddPort(amd::Tree& tree, const SimNodeState& node, const SimPlace& function,
             const std::string& hca) {
  const Port port = PortOf(node, function);
  const bool is_infiniband = function.nic->is_infiniband;
  const std::string directory = hca + "/ports/1";
  tree.AddLine(directory + "/state", port.state);
  tree.AddLine(directory + "/phys_state", port.physical);
  tree.AddLine(directory + "/link_layer", is_infiniband                     ? "InfiniBand"
                                          : function.nic->interface.empty() ? "Unknown"
                                                                            : "Ethernet");
  tree.AddLine(directory + "/rate", is_infiniband ? "200 Gb/sec (4X HDR)" : "100 Gb/sec (2X HDR)");
  const bool has_lid = is_infiniband && port.state.starts_with("4");
  tree.AddLine(directory + "/lid", has_lid ? "0x1a" : "0x0");
  tree.AddLine(directory + "/sm_lid", has_lid ? "0x1" : "0x0");
  tree.AddLine(directory + "/pkeys/0", "0xffff");
  tree.AddLine(directory + "/cap_mask", is_infiniband ? "0xa651e84a" : "0x04010000");
  tree.AddLine(directory + "/gids/0", "fe80:0000:0000:0000:b859:9fff:fea1:0b2c");
  tree.AddLine(directory + "/gid_attrs/types/0", "IB/RoCE v1");
  if (!is_infiniband && HasInterface(node, function))
    tree.AddLine(directory + "/gid_attrs/ndevs/0", InterfaceOf(function));
  tree.AddLine(directory + "/counters/link_downed", std::to_string(function.state->link_downed));
  for (const char* const counter : {"link_error_recovery", "symbol_error", "port_rcv_errors",
                                    "port_xmit_discards", "local_link_integrity_errors"}) {
    tree.AddLine(fmt::format("{}/counters/{}", directory, counter), "0");
  }
}

void AddVerbs(amd::Tree& tree, const SimNodeState& node, const SimPlace& function,
              const std::string& device) {
  const auto number = node.numbers.find(function.address);
  if (number == node.numbers.end()) return;
  const int n = number->second;
  bool is_bond = false;
  for (const auto& [second, first] : node.bonds) is_bond |= first == function.address;
  const std::string name =
      is_bond ? "mlx5_bond_0"
              : fmt::format("{}_{}", function.nic->driver == "efa" ? "efa" : "mlx5", n);
  const std::string hca = fmt::format("{}/infiniband/{}", device, name);
  const bool is_efa = function.nic->driver == "efa";
  tree.AddLine(hca + "/node_type", is_efa ? "7: unspecified" : "1: CA");
  tree.AddLine(hca + "/node_desc", "node1 " + name);
  tree.AddLine(hca + "/node_guid", fmt::format("b859:9f03:00a1:{:04x}", n));
  tree.AddLine(hca + "/sys_image_guid", "b859:9f03:00a1:0b2c");
  tree.AddLine(hca + "/hw_rev", "0");
  tree.AddLine(hca + "/fw_ver", "20.43.2026");
  if (!is_efa) {
    tree.AddLine(hca + "/hca_type", function.vf < 0 ? "MT4123" : "MT4124");
    tree.AddLine(hca + "/board_id", "MT_0000000223");
  }
  tree.AddLink(hca + "/device", device);
  tree.AddLink(fmt::format("{}/{}", kInfiniband, name), hca);
  AddPort(tree, node, function, hca);
  const auto add_node = [&](const std::string& of_class, const std::string& node_name, int minor) {
    const std::string directory = fmt::format("{}/{}/{}", device, of_class, node_name);
    tree.AddLine(directory + "/ibdev", name);
    tree.AddLine(directory + "/dev", fmt::format("231:{}", minor));
    if (of_class == "infiniband_verbs") tree.AddLine(directory + "/abi_version", "1");
    tree.AddLink(fmt::format("/sys/class/{}/{}", of_class, node_name), directory);
    tree.AddFile("/dev/infiniband/" + node_name, "");
  };
  add_node("infiniband_verbs", fmt::format("uverbs{}", n), 192 + n);
  if (is_efa) return;
  add_node("infiniband_mad", fmt::format("umad{}", n), n);
  if (function.nic->numa) add_node("infiniband_mad", fmt::format("issm{}", n), 64 + n);
}

// Empty: it has none.
std::string DriverOf(const SimNodeState& node, const SimPlace& function) {
  const std::string driver = function.state->driver.value_or(function.nic->driver);
  const bool is_own = driver == function.nic->driver;
  return function.state->is_lost || (is_own && !node.has_driver) ? "" : driver;
}

void AddDriver(amd::Tree& tree, const SimNodeState& node, const SimPlace& function,
               const std::string& device) {
  const std::string driver = DriverOf(node, function);
  if (driver.empty()) return;
  const std::string directory = fmt::format("{}/drivers/{}", kPci, driver);
  tree.AddLink(device + "/driver", directory);
  tree.AddLink(directory + "/" + function.address, device);
}

// The ids of a virtual function are its card's, so its own read as ones (SR-IOV 3.4.1).
std::string ConfigOf(const SimPlace& function) {
  constexpr size_t kBytes = 64;
  if (function.state->is_lost) return std::string(kBytes, '\xff');
  using namespace std::string_literals;
  std::string config =
      function.vf < 0 ? "\xb3\x15\x1b\x10\x06\x04\x10\x00"s : "\xff\xff\xff\xff\x06\x04\x10\x00"s;
  config.resize(kBytes);
  return config;
}

void AddFunction(amd::Tree& tree, const SimNodeState& node, const SimPlace& function) {
  const SimNic& nic = *function.nic;
  const std::string parent = AddBridges(tree, nic.bridges) + "/";
  const std::string device = parent + function.address;
  const bool is_vf = function.vf >= 0;
  AddIdentity(tree, device, fmt::format("{:#06x}", nic.vendor),
              fmt::format("{:#06x}", is_vf ? nic.vf_device : nic.device),
              nic.is_infiniband ? "0x020700" : "0x020000");
  tree.AddLine(device + "/numa_node", NumaText(nic.numa));
  tree.AddLine(device + "/local_cpulist", nic.numa.value_or(0) == 0 ? "0-23" : "24-47");
  tree.AddFile(device + "/config", ConfigOf(function));
  tree.AddFile(device + "/aer_dev_fatal", fmt::format("Undefined 0\nDLP 0\nTOTAL_ERR_FATAL {}\n",
                                                      function.state->fatal_errors));
  tree.AddLink(fmt::format("{}/devices/{}", kPci, function.address), device);
  const int group = nic.iommu_group + function.vf + 1;
  const std::string iommu = fmt::format("/sys/kernel/iommu_groups/{}", group);
  tree.AddLink(device + "/iommu_group", iommu);
  tree.AddLink(fmt::format("{}/devices/{}", iommu, function.address), device);
  if (function.state->driver == "vfio-pci") {
    tree.AddFile("/dev/vfio/vfio", "");
    tree.AddFile(fmt::format("/dev/vfio/{}", group), "");
  }
  if (is_vf) {
    tree.AddLink(device + "/physfn", parent + nic.address);
    tree.AddLink(fmt::format("{}{}/virtfn{}", parent, nic.address, function.vf), device);
  } else if (nic.total_vfs > 0) {
    tree.AddLine(device + "/sriov_totalvfs", std::to_string(nic.total_vfs));
    tree.AddLine(device + "/sriov_numvfs", std::to_string(nic.vfs));
    tree.AddLine(device + "/sriov_drivers_autoprobe", "1");
    tree.AddLine(device + "/sriov_vf_device", fmt::format("{:x}", nic.vf_device));
  }
  AddDriver(tree, node, function, device);
  AddInterface(tree, node, function, device);
  AddVerbs(tree, node, function, device);
}

// The node's own interface, of no card of the fixture.
void AddHostNetwork(amd::Tree& tree, const SimNodeState& node) {
  tree.AddLine("/sys/devices/virtual/net/lo/type", "772");
  tree.AddLink("/sys/class/net/lo", "/sys/devices/virtual/net/lo");
  tree.AddLine("/sys/devices/virtual/net/eno1/type", "1");
  tree.AddLink("/sys/class/net/eno1", "/sys/devices/virtual/net/eno1");
  if (!node.bonds.empty()) {
    tree.AddLine(std::string(kBond) + "/type", "1");
    tree.AddLink("/sys/class/net/bond0", kBond);
  }
  std::string interfaces = "Inter-|   Receive\n face |bytes\n    lo: 0\n  eno1: 0\n";
  for (const SimPlace& function : node.Functions()) {
    if (!HasInterface(node, function)) continue;
    interfaces += fmt::format("{}: 0\n", InterfaceOf(function));
  }
  tree.AddFile("/proc/net/dev", interfaces);
  std::string routes = "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\n";
  if (!node.node.default_route.empty()) {
    routes += node.node.default_route + "\t00000000\t0101A8C0\t0003\t0\t0\t100\t00000000\n";
  }
  tree.AddFile("/proc/net/route", routes + "eno1\t0001A8C0\t00000000\t0001\t0\t0\t100\t00FFFFFF\n");
}

}  // namespace

amd::Tree Files(const SimNodeState& state) {
  amd::Tree tree;
  tree.AddDirectory("/sys/bus/pci/devices");
  tree.AddDirectory("/dev/infiniband");
  for (const SimFunction& other : state.node.others) {
    const std::string device = AddBridges(tree, other.bridges) + "/" + other.address;
    AddIdentity(tree, device, other.vendor, other.device, other.pci_class);
    tree.AddLine(device + "/numa_node", NumaText(other.numa));
    tree.AddLink(fmt::format("{}/devices/{}", kPci, other.address), device);
  }
  for (const SimPlace& function : state.Functions()) AddFunction(tree, state, function);
  if (state.has_driver) {
    for (const char* const of_class : {"infiniband", "infiniband_verbs", "infiniband_mad"}) {
      tree.AddDirectory(fmt::format("/sys/class/{}", of_class));
    }
    tree.AddLine("/sys/class/infiniband_verbs/abi_version", "6");
    tree.AddLine("/sys/class/infiniband_mad/abi_version", "5");
    tree.AddLine("/sys/class/misc/rdma_cm/dev", "10:58");
    tree.AddLine("/sys/module/ib_core/parameters/netns_mode", state.is_exclusive ? "N" : "Y");
    tree.AddFile("/dev/infiniband/rdma_cm", "");
  }
  AddHostNetwork(tree, state);
  return tree;
}

}  // namespace tessera::rdma
