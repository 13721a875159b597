// SPDX-License-Identifier: Apache-2.0
#include "nvml/hardware.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <stdexcept>

#include "nvml/yaml.h"

namespace tessera::nvml {
namespace {

template <size_t Size>
void Copy(const std::string& text, char (&out)[Size]) {
  std::memcpy(out, text.data(), std::min(text.size(), Size - 1));
}

PciInfo Pci(const std::string& address) {
  PciInfo pci{};
  if (std::sscanf(address.c_str(), "%x:%x:%x.", &pci.domain, &pci.bus, &pci.device) != 3) {
    throw std::runtime_error(address + " is no PCI address");
  }
  pci.device_id = 0x20B210DE;
  Copy(fmt::format("{:04X}:{:02X}:{:02X}.0", pci.domain, pci.bus, pci.device), pci.bus_id_legacy);
  Copy(fmt::format("{:08X}:{:02X}:{:02X}.0", pci.domain, pci.bus, pci.device), pci.bus_id);
  return pci;
}

// Parses "1g.10gb" or "1c.2g.20gb+me". The other numbers stand for an A100's, unless a profile of
// the description has them.
DeviceAttributes Attributes(const std::string& profile) {
  DeviceAttributes attributes{};
  unsigned compute = 0;
  unsigned slices = 0;
  if (std::sscanf(profile.c_str(), "%uc.%ug.", &compute, &slices) != 2) {
    if (std::sscanf(profile.c_str(), "%ug.", &slices) != 1) {
      throw std::runtime_error(profile + " is no MIG profile");
    }
    compute = slices;
  }
  attributes.gpu_instance_slices = slices;
  attributes.compute_instance_slices = compute;
  attributes.multiprocessors = 14 * compute;
  attributes.shared_copy_engines = slices;
  return attributes;
}

int CudaVersion(const std::string& text) {
  int major = 0;
  int minor = 0;
  if (!text.empty() && std::sscanf(text.c_str(), "%d.%d", &major, &minor) != 2) {
    throw std::runtime_error(text + " is no version of CUDA");
  }
  return major * 1000 + minor * 10;
}

std::optional<GpuFabricInfo> Fabric(const Yaml& yaml) {
  if (!yaml) return std::nullopt;
  yaml.CheckKeys("\"fabric\"", {"cluster", "clique", "state", "status"});
  GpuFabricInfo info{};
  const auto cluster = yaml["cluster"].As<std::string>();
  for (size_t i = 0; i < sizeof(info.cluster); ++i) {
    unsigned byte = 0;
    if (cluster.size() != 32 || std::sscanf(&cluster[2 * i], "%2x", &byte) != 1) {
      throw std::runtime_error(cluster + " is no cluster: 32 hex digits are");
    }
    info.cluster[i] = static_cast<uint8_t>(byte);
  }
  info.clique = yaml["clique"].As<unsigned>();
  info.state = static_cast<uint8_t>(yaml["state"].Or<unsigned>(kFabricCompleted));
  info.status = static_cast<Return>(yaml["status"].Or<int>(0));
  return info;
}

std::map<std::string, uint64_t> Gauges(const Yaml& yaml) {
  yaml.CheckKeys("\"gauges\"", {"temperature", "memory-temperature", "power", "energy",
                                "utilization", "memory-utilization", "encoder", "decoder",
                                "sm-clock", "memory-clock", "pcie-replays"});
  std::map<std::string, uint64_t> gauges;
  for (const auto& [key, value] : yaml.entries()) {
    gauges[key.As<std::string>()] = value.As<uint64_t>();
  }
  return gauges;
}

// Takes the engines of a MIG device from its profile.
void SetEngines(const GpuInstanceProfileInfo& profile, DeviceAttributes& attributes) {
  attributes.multiprocessors = profile.multiprocessors;
  attributes.shared_copy_engines = profile.copy_engines;
  attributes.shared_decoders = profile.decoders;
  attributes.shared_encoders = profile.encoders;
  attributes.shared_jpeg_engines = profile.jpeg_engines;
  attributes.shared_ofa_engines = profile.ofa_engines;
}

std::map<unsigned, GpuInstanceProfileInfo> ReadProfiles(const Yaml& yaml) {
  std::map<unsigned, GpuInstanceProfileInfo> profiles;
  for (const Yaml& item : yaml.items()) {
    item.CheckKeys("a profile", {"profile", "id", "slices", "instances", "memory",
                                 "multiprocessors", "copy", "decoders", "encoders", "jpeg", "ofa"});
    GpuInstanceProfileInfo info{};
    info.id = item["id"].As<unsigned>();
    info.slices = item["slices"].As<unsigned>();
    info.instances = item["instances"].As<unsigned>();
    info.memory_mib = item["memory"].As<uint64_t>();
    info.multiprocessors = item["multiprocessors"].Or<unsigned>(0);
    info.copy_engines = item["copy"].Or<unsigned>(0);
    info.decoders = item["decoders"].Or<unsigned>(0);
    info.encoders = item["encoders"].Or<unsigned>(0);
    info.jpeg_engines = item["jpeg"].Or<unsigned>(0);
    info.ofa_engines = item["ofa"].Or<unsigned>(0);
    profiles[item["profile"].As<unsigned>()] = info;
  }
  return profiles;
}

// Only for a MIG device that is a whole GPU instance. The first profile of its size counts.
void SetEngines(const std::map<unsigned, GpuInstanceProfileInfo>& profiles, HardwareGpu& gpu) {
  for (MigInstance& mig : gpu.mig) {
    DeviceAttributes& own = mig.attributes;
    if (own.compute_instance_slices != own.gpu_instance_slices) continue;
    for (const auto& [number, profile] : profiles) {
      if (profile.slices != own.gpu_instance_slices || profile.memory_mib != own.memory_mib) {
        continue;
      }
      if (profile.multiprocessors > 0) SetEngines(profile, own);
      break;
    }
  }
}

std::string MadeUuid(const std::string& kind, size_t gpu, size_t part) {
  return fmt::format("{}-{:08x}-0000-4000-8000-{:012x}", kind, gpu, part);
}

// The GPU's value for the key, or the default of all GPUs.
const Yaml& Of(const Yaml& gpu, const Yaml& defaults, const char* key) {
  return gpu[key] ? gpu[key] : defaults[key];
}

void ReadMig(const Yaml& mig, size_t place, HardwareGpu& gpu) {
  gpu.mig_capable = static_cast<bool>(mig);
  gpu.mig_enabled = mig.IsList();
  if (!gpu.mig_enabled) return;
  for (const Yaml& item : mig.items()) {
    item.CheckKeys("a MIG device", {"profile", "gi", "ci", "memory", "uuid"});
    MigInstance instance;
    instance.uuid = item["uuid"].Or<std::string>(MadeUuid("MIG", place, gpu.mig.size()));
    instance.gpu_instance = item["gi"].As<unsigned>();
    instance.compute_instance = item["ci"].Or<unsigned>(0);
    instance.profile = item["profile"].As<std::string>();
    instance.attributes = Attributes(instance.profile);
    instance.attributes.memory_mib = item["memory"].As<uint64_t>();
    gpu.mig.push_back(instance);
  }
}

HardwareGpu ReadGpu(const Yaml& node, const Yaml& yaml, size_t place) {
  node.CheckKeys("a GPU", {"uuid", "pci", "minor", "model", "memory", "compute", "numa", "pcie",
                           "mig", "class", "vgpu", "fabric", "gauges"});
  const Yaml& defaults = yaml["defaults"];
  HardwareGpu gpu;
  gpu.uuid = node["uuid"].Or<std::string>(MadeUuid("GPU", place, 0));
  gpu.model = Of(node, defaults, "model").As<std::string>();
  gpu.minor = node["minor"].Or<unsigned>(static_cast<unsigned>(place));
  gpu.numa = Of(node, defaults, "numa").Or<int>(-1);
  gpu.integrated = !node["pci"] && yaml["platform"].Or<std::string>("") == "tegra";
  if (!gpu.integrated) gpu.pci = Pci(node["pci"].As<std::string>());
  gpu.pcie = Of(node, defaults, "pcie").Strings();
  gpu.pci_class = Of(node, defaults, "class").Or<std::string>("");
  if (const Yaml& vgpu = Of(node, defaults, "vgpu")) {
    vgpu.CheckKeys("\"vgpu\"", {"version", "branch"});
    gpu.vgpu = VgpuHost{vgpu["version"].As<std::string>(), vgpu["branch"].As<std::string>()};
  }
  gpu.fabric = Fabric(Of(node, defaults, "fabric"));
  gpu.gauges = Gauges(Of(node, defaults, "gauges"));
  gpu.memory_mib = Of(node, defaults, "memory").As<uint64_t>();
  const auto compute = Of(node, defaults, "compute").As<std::string>();
  std::sscanf(compute.c_str(), "%d.%d", &gpu.compute_major, &gpu.compute_minor);
  ReadMig(Of(node, defaults, "mig"), place, gpu);
  return gpu;
}

void ReadLinks(const Yaml& yaml, std::vector<HardwareGpu>& gpus) {
  if (const Yaml& switches = yaml["switches"]) {
    switches.CheckKeys("\"switches\"", {"pci", "links"});
    std::vector<PciInfo> addresses;
    for (const Yaml& address : switches["pci"].items()) {
      addresses.push_back(Pci(address.As<std::string>()));
    }
    std::vector<NvLink> links;
    for (size_t link = 0; link < switches["links"].As<size_t>(); ++link) {
      links.push_back({NvLinkRemoteType::kSwitch, addresses.at(link % addresses.size())});
    }
    for (HardwareGpu& gpu : gpus) gpu.links = links;
  }
  for (const Yaml& item : yaml["links"].items()) {
    HardwareGpu& a = gpus.at(item[0].As<size_t>());
    HardwareGpu& b = gpus.at(item[1].As<size_t>());
    for (int link = 0; link < item[2].As<int>(); ++link) {
      a.links.push_back({NvLinkRemoteType::kGpu, b.pci});
      b.links.push_back({NvLinkRemoteType::kGpu, a.pci});
    }
  }
}

}  // namespace

Hardware ParseHardware(const std::string& text) {
  const Yaml yaml = Yaml::Parse(text);
  yaml.CheckKeys("a node", {"driver", "cuda", "machine", "platform", "defaults", "gpus", "switches",
                            "links", "profiles"});
  yaml["defaults"].CheckKeys("\"defaults\"", {"model", "memory", "compute", "numa", "pcie", "mig",
                                              "class", "vgpu", "fabric", "gauges"});
  Hardware hardware;
  hardware.driver = yaml["driver"].As<std::string>();
  hardware.cuda = CudaVersion(yaml["cuda"].Or<std::string>(""));
  hardware.machine = yaml["machine"].Or<std::string>("");
  hardware.platform = yaml["platform"].Or<std::string>("");
  if (!hardware.platform.empty() && hardware.platform != "tegra" && hardware.platform != "wsl") {
    yaml["platform"].Refuse(
        fmt::format("there is no platform \"{}\", only tegra and wsl", hardware.platform));
  }
  hardware.profiles = ReadProfiles(yaml["profiles"]);
  for (const Yaml& gpu : yaml["gpus"].items()) {
    hardware.gpus.push_back(ReadGpu(gpu, yaml, hardware.gpus.size()));
    SetEngines(hardware.profiles, hardware.gpus.back());
  }
  ReadLinks(yaml, hardware.gpus);
  return hardware;
}

TopologyLevel CommonAncestor(const HardwareGpu& a, const HardwareGpu& b) {
  const auto differ =
      std::mismatch(a.pcie.begin(), a.pcie.end(), b.pcie.begin(), b.pcie.end()).first;
  const auto common = static_cast<size_t>(differ - a.pcie.begin());
  if (common >= 2) {
    const bool whole = common == a.pcie.size() && common == b.pcie.size();
    return whole ? TopologyLevel::kSingle : TopologyLevel::kMultiple;
  }
  if (common == 1) return TopologyLevel::kHostBridge;
  return a.numa >= 0 && a.numa == b.numa ? TopologyLevel::kNode : TopologyLevel::kSystem;
}

}  // namespace tessera::nvml
