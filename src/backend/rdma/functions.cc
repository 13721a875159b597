// SPDX-License-Identifier: Apache-2.0
#include "backend/rdma/functions.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <span>
#include <utility>

#include "backend/pci_place.h"
#include "backend/sysfs.h"
#include "base/mutex.h"
#include "base/text.h"
#include "device/traits.h"
#include "os/thread.h"

namespace tessera::rdma {
namespace {

constexpr std::string_view kBus = "/sys/bus/pci/devices";

// Network controllers, and InfiniBand's among serial buses.
bool IsNetworkClass(std::string_view pci_class) {
  return pci_class.starts_with("02") || pci_class.starts_with("0c06");
}

// Processing accelerators.
bool IsAcceleratorClass(std::string_view pci_class) {
  return pci_class.starts_with("12");
}

// A card whose switch the host programs has interfaces that stand for its virtual functions:
// "pf0vf3".
bool StandsForAnother(const sysfs::Directory& of, const std::string& interface) {
  const std::string port = of.Text("net/" + interface + "/phys_port_name");
  return port.starts_with("pf") || port.find("vf") != std::string::npos;
}

// What the kernel's classes have of all functions.
struct Members {
  std::span<const Face> interfaces{};
  std::vector<Face> hcas{}, verbs{}, umads{}, issms{}, uios{};
};

Members ReadMembers(const os::Root& root, const Names& names, const Details& details) {
  // Sorted names with the same beginning are neighbours.
  const auto mads = [&](std::string_view prefix) {
    const auto first = std::ranges::lower_bound(names.mads, prefix);
    const auto last = std::find_if_not(
        first, names.mads.end(), [&](const std::string& name) { return name.starts_with(prefix); });
    return ReadFaces(root, "infiniband_mad", {first, last});
  };
  return {.interfaces = names.interfaces,
          .hcas = ReadFaces(root, "infiniband", names.hcas),
          .verbs = ReadFaces(root, "infiniband_verbs", names.verbs),
          .umads = mads("umad"),
          .issms = details.issms ? mads("issm") : std::vector<Face>(),
          .uios = ReadFaces(root, "uio", names.uios)};
}

void ReadOwnInterfaces(const sysfs::Directory& of, const Members& members, const Details& details,
                       Function& function) {
  std::vector<std::string> names = NamesOf(members.interfaces, function.address);
  // One that was renamed since its class was listed would hide that the host needs it.
  const bool is_looked_at = !function.IsVirtual() || details.links;
  const bool is_renamed = is_looked_at && std::ranges::any_of(names, [&](const std::string& name) {
                            return !of.Has("net/" + name);
                          });
  if (is_renamed) names = of.Names("net");
  if (names.size() > 1) {
    std::erase_if(names, [&](const std::string& name) { return StandsForAnother(of, name); });
  }
  function.interfaces = std::move(names);
  for (const std::string& name : function.interfaces) {
    function.master = of.LinkName("net/" + name + "/master");
    if (!function.master.empty()) return;
  }
}

std::string LinkLayer(const sysfs::Directory& of, const std::string& hca) {
  const std::string ports = "infiniband/" + hca + "/ports";
  for (const std::string& port : of.Names(ports)) {
    const std::string layer = of.Text(ports + "/" + port + "/link_layer");
    if (layer == "InfiniBand") return "infiniband";
    if (layer == "Ethernet") return "ether";
  }
  return "";
}

// A port knows the link while a pod has the interface.
void ReadOwnLink(const sysfs::Directory& of, Function& function) {
  if (!function.interfaces.empty()) {
    // By the kernel's number for the hardware's type of an interface (linux/if_arp.h).
    const std::string first = "net/" + function.interfaces.front();
    const std::string type = of.Text(first + "/type");
    function.link = type == "1" ? "ether" : type == "32" ? "infiniband" : "";
    if (type == "32") function.pkey = of.Text(first + "/pkey");
  }
  const bool is_known = !function.link.empty() || function.hca.empty();
  if (!is_known) function.link = LinkLayer(of, function.hca);
}

void ReadVerbs(const Members& members, Function& function) {
  const std::vector<std::string> hcas = NamesOf(members.hcas, function.address);
  if (hcas.empty()) return;
  function.hca = hcas.front();
  function.verbs = NamesOf(members.verbs, function.address);
  function.mads = NamesOf(members.umads, function.address);
  function.issms = NamesOf(members.issms, function.address);
  if (function.verbs.empty()) {
    function.trouble = {Reason::kUnreadable,
                        fmt::format("{}: {} has no node for programs: load the module ib_uverbs",
                                    function.address, function.hca)};
  }
}

// The index of each virtual function among those of the physical one, by its address.
using Indices = std::map<std::string, int>;

void ReadIndices(const sysfs::Directory& of, Indices& indices) {
  constexpr std::string_view kVirtual = "virtfn";
  for (const std::string& entry : of.Names(".")) {
    if (!entry.starts_with(kVirtual)) continue;
    const auto index = sysfs::Number<int>(std::string_view(entry).substr(kVirtual.size()));
    if (index) indices.emplace(of.LinkName(entry), *index);
  }
}

std::optional<int> NumaOf(const sysfs::Directory& of) {
  const auto numa = sysfs::Number<int>(of.Text("numa_node"));
  return numa.value_or(-1) < 0 ? std::nullopt : numa;
}

std::optional<int> GroupOf(const sysfs::Directory& of) {
  return sysfs::Number<int>(of.LinkName("iommu_group"));
}

std::string PathOf(const os::Root& root, const std::string& address) {
  DeviceTraits place;
  ReadPciPlace(root, address, place);
  return std::move(place.pci_path);
}

// The kernel makes a virtual function a neighbour of its card, on the same node. One without a
// known card has a place of its own.
void Complete(const os::Root& root, const std::vector<Function>& functions, const Indices& indices,
              Function& function) {
  const auto index = indices.find(function.address);
  if (index != indices.end()) function.index = index->second;
  const Function* const physical = Find(functions, function.physical);
  if (physical != nullptr) function.numa = physical->numa;
  if (physical != nullptr && !physical->pci_path.empty()) {
    const std::string& path = physical->pci_path;
    function.pci_path = path.substr(0, path.rfind('/') + 1) + function.address;
  } else {
    function.pci_path = PathOf(root, function.address);
  }
  if (!function.numa) function.numa = NumaOf(sysfs::Directory(root.Path(function.Directory())));
}

// False: the function is of another kind. `uevent` has all of this as well, but kernels may read it
// under a lock that a driver's probe holds.
bool ReadIdentity(const sysfs::Directory& of, const Details& details, Function& function) {
  const std::string pci_class = of.HexText("class");
  function.is_accelerator = details.accelerators && IsAcceleratorClass(pci_class);
  function.is_network = !pci_class.empty();
  if (function.is_network && !function.is_accelerator && !IsNetworkClass(pci_class)) return false;
  function.vendor = of.HexText("vendor");
  function.device = of.HexText("device");
  return true;
}

// The virtual functions of a card have one identity (SR-IOV 3.4.1), so one of them tells those of
// its siblings. By the card's address.
class Siblings {
 public:
  bool Identify(const sysfs::Directory& of, const Details& details, Function& function) {
    const auto known = known_.find(function.physical);
    if (known == known_.end()) {
      if (!ReadIdentity(of, details, function)) return false;
      const bool is_whole =
          function.is_network && !function.vendor.empty() && !function.device.empty();
      if (is_whole && function.IsVirtual()) known_.emplace(function.physical, function);
      return true;
    }
    const Function& sibling = known->second;
    function.vendor = sibling.vendor;
    function.device = sibling.device;
    function.is_accelerator = sibling.is_accelerator;
    return true;
  }

 private:
  std::map<std::string, Function> known_;
};

Function ReadFunction(const os::Root& root, const sysfs::Directory& of, Function function,
                      const Members& members, const Details& details) {
  function.driver = of.LinkName("driver");
  if (!function.IsVirtual()) {
    function.numa = NumaOf(of);
    function.pci_path = PathOf(root, function.address);
    function.functions = sysfs::Number<int>(of.Text("sriov_numvfs")).value_or(0);
  }
  function.iommu_group = GroupOf(of);
  if (details.acpi_indices) function.acpi_index = of.Text("acpi_index");
  ReadOwnInterfaces(of, members, details, function);
  ReadVerbs(members, function);
  if (!function.IsVirtual() || details.links) ReadOwnLink(of, function);
  function.uios = NamesOf(members.uios, function.address);
  if (function.vendor.empty() || function.device.empty()) {
    function.trouble = {Reason::kUnreadable, function.address + " cannot be read from sysfs"};
  }
  return function;
}

}  // namespace

std::string Function::DirectoryOf(std::string_view address) {
  return fmt::format("{}/{}", kBus, address);
}

bool IsLost(const sysfs::Directory& function) {
  return !IsAsleep(function) && IsOffTheBus(function);
}

std::vector<Function> ReadFunctions(const os::Root& root, const Names& names,
                                    const Details& details) {
  const Members members = ReadMembers(root, names, details);
  std::map<size_t, std::vector<Function>> parts;  // by their begin
  Indices indices;
  Mutex mutex;
  os::InParts(names.functions.size(), [&](size_t begin, size_t end) {
    Indices some_indices;
    std::vector<Function> some;
    Siblings siblings;
    for (size_t i = begin; i < end; ++i) {
      const std::string& address = names.functions[i];
      const sysfs::Directory of(root.Path(Function::DirectoryOf(address)));
      Function function{.address = address, .physical = of.LinkName("physfn")};
      if (!siblings.Identify(of, details, function)) continue;
      some.push_back(ReadFunction(root, of, std::move(function), members, details));
      if (details.numbers && some.back().functions > 0) ReadIndices(of, some_indices);
    }
    const MutexLock lock(mutex);
    parts[begin] = std::move(some);
    indices.merge(some_indices);
  });
  std::vector<Function> functions;
  for (auto& [begin, part] : parts) std::ranges::move(part, std::back_inserter(functions));
  for (Function& function : functions) {
    if (function.IsVirtual()) Complete(root, functions, indices, function);
  }
  return functions;
}

const Function* Find(const std::vector<Function>& functions, std::string_view address) {
  const auto found = std::ranges::lower_bound(functions, address, {}, &Function::address);
  return found == functions.end() || found->address != address ? nullptr : &*found;
}

}  // namespace tessera::rdma
