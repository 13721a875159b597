// SPDX-License-Identifier: Apache-2.0
#include "backend/rdma/devices.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "backend/node_facts.h"
#include "backend/sysfs.h"
#include "base/characters.h"
#include "base/text.h"
#include "json/json.h"

namespace tessera::rdma {
namespace {

constexpr std::string_view kVfio = "vfio-pci";
constexpr std::string_view kInfiniband = "/dev/infiniband/";

WantedNode Wanted(const std::string& path, bool optional = false) {
  return {{.host_path = path, .container_path = path}, optional};
}

std::string InInfiniband(const std::string& name) {
  return std::string(kInfiniband) + name;
}

// The nodes of a function, and what the plugin says of them.
struct Faces {
  std::vector<WantedNode> nodes{};
  json::Object info{};
};

void AddVerbs(const RdmaConfig& config, const Function& function, Faces& faces) {
  if (function.hca.empty()) return;
  json::Object rdma{{"rdma_dev", function.hca}};
  const auto add = [&](std::string_view key, const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      faces.nodes.push_back(Wanted(InInfiniband(name)));
      rdma[key] = InInfiniband(name);
    }
  };
  add("uverbs", function.verbs);
  add("umad", function.mads);
  if (config.issm) add("issm", function.issms);
  // Programs that do not use the connection manager work without it.
  faces.nodes.push_back(Wanted(std::string(kConnectionManager), true));
  rdma["rdma_cm"] = kConnectionManager;
  faces.info["rdma"] = std::move(rdma);
}

// A group without an IOMMU has another node on the host.
void AddVfio(const os::Root& root, const Function& function, Faces& faces) {
  const std::optional<int> group = function.iommu_group;
  if (function.driver != kVfio || !group) return;
  const std::string own = fmt::format("/dev/vfio/{}", *group);
  const bool has_iommu =
      sysfs::Text(root.Path(fmt::format("/sys/kernel/iommu_groups/{}/name", *group))) !=
      "vfio-noiommu";
  WantedNode node = Wanted(own);
  if (!has_iommu) node.node.host_path = fmt::format("/dev/vfio/noiommu-{}", *group);
  faces.nodes.push_back(Wanted("/dev/vfio/vfio"));
  faces.nodes.push_back(std::move(node));
  faces.info["vfio"] = json::Object{{"dev-mount", own}, {"mount", "/dev/vfio/vfio"}};
}

void AddUio(const Function& function, Faces& faces) {
  for (const std::string& name : function.uios) faces.nodes.push_back(Wanted("/dev/" + name));
}

void AddVhost(Faces& faces) {
  faces.nodes.push_back(Wanted("/dev/vhost-net"));
  faces.nodes.push_back(Wanted("/dev/net/tun"));
  faces.info["vhost"] =
      json::Object{{"net-mount", "/dev/vhost-net"}, {"tun-mount", "/dev/net/tun"}};
}

// The kernel refuses a group of which another driver has a function. Bridges do not count.
std::optional<Error> TroubleOfGroup(const os::Root& root, const Function& function) {
  const std::optional<int> group = function.iommu_group;
  if (function.driver != kVfio) return std::nullopt;
  if (!group) {
    return Error{Reason::kUnreadable,
                 function.address + " has no IOMMU group: switch the IOMMU on"};
  }
  const std::string members = root.Path(fmt::format("/sys/kernel/iommu_groups/{}/devices", *group));
  for (const std::string& member : sysfs::Names(members)) {
    const std::string directory = root.Path(Function::DirectoryOf(member));
    const auto driver = os::ReadLink(directory + "/driver");
    if (member == function.address || !driver || FileName(*driver) == kVfio) continue;
    if (sysfs::HexText(directory + "/class").starts_with("0604")) continue;
    return Error{Reason::kUnreadable,
                 fmt::format("{} cannot be given to a program: {} of its IOMMU group {} has the "
                             "driver {}: bind that to vfio-pci as well",
                             function.address, member, *group, FileName(*driver))};
  }
  return std::nullopt;
}

// The texts of the configuration. Those of the address come last, as they replace the others.
void AddInfo(const RdmaConfig& config, const Function& function, Faces& faces) {
  json::Object texts;
  for (const std::string& address : {std::string(), function.address}) {
    for (const auto& info :
         std::ranges::equal_range(config.info, address, {}, &RdmaConfig::Info::address)) {
      texts[info.key] = info.value;
    }
  }
  if (!texts.empty()) faces.info["extra_info"] = std::move(texts);
}

std::string ModelOf(const Function& function) {
  return fmt::format("{}{} {}:{}", function.is_accelerator ? "accelerator" : "NIC",
                     function.IsVirtual() ? " VF" : "", function.vendor, function.device);
}

std::string NameOf(const RdmaConfig& config, const Function& function) {
  const bool by_hca = config.names == RdmaConfig::Names::kHca && !function.hca.empty();
  return by_hca ? function.hca : function.address;
}

}  // namespace

std::string HardwareOf(std::string_view address) {
  return fmt::format("pci/{}", address);
}

std::string VariableOf(std::string_view resource) {
  std::string name = "PCIDEVICE_" + std::string(resource);
  for (char& c : name) {
    if (IsLower(c)) {
      c = static_cast<char>(c - 'a' + 'A');
    } else if (!IsAlphanumeric(c)) {
      c = '_';
    }
  }
  return name;
}

Device DeviceOf(const os::Root& root, const std::string& resource, const RdmaConfig& config,
                const Function& function, RdmaAccess access,
                std::span<const std::string> infiniband) {
  Device device;
  device.key = {resource, function.address};
  device.model = ModelOf(function);
  device.address = function.address;
  device.visible_as = NameOf(config, function);
  if (function.numa) device.numa_nodes = {*function.numa};
  DeviceTraits traits;
  traits.pci_path = function.pci_path;
  traits.iommu_group = function.iommu_group;
  traits.takes = {HardwareOf(function.address)};
  // A program with a group's node has all functions of the group.
  if (function.driver == kVfio && traits.iommu_group) {
    traits.takes.push_back(fmt::format("iommu/{}", *traits.iommu_group));
  }
  Faces faces;
  faces.info["generic"] = json::Object{{"deviceID", function.address}};
  if (access.verbs) AddVerbs(config, function, faces);
  AddVfio(root, function, faces);
  AddUio(function, faces);
  if (access.vhost) AddVhost(faces);
  AddInfo(config, function, faces);
  const std::string variable = VariableOf(resource);
  traits.variables = {
      {variable, function.address},
      {variable + "_INFO", json::Write(json::Object{{function.address, std::move(faces.info)}})}};
  device.defect = function.trouble;
  if (!device.defect) device.defect = TroubleOfGroup(root, function);
  device.traits = std::move(traits);
  for (const WantedNode& wanted : faces.nodes) {
    const std::string& path = wanted.node.host_path;
    const bool is_known = path.starts_with(kInfiniband) &&
                          std::ranges::binary_search(infiniband, path.substr(kInfiniband.size()));
    if (is_known) {
      device.nodes.push_back(wanted.node);
    } else {
      AddNodes(root, {&wanted, 1}, device);
    }
  }
  return device;
}

}  // namespace tessera::rdma
