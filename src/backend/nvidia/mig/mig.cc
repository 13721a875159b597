// SPDX-License-Identifier: Apache-2.0
#include "backend/nvidia/mig/mig.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace tessera::nvidia {
namespace {

// The attribute of a GPU instance profile (by NVML's number) that its size does not show.
std::string_view AttributeOf(unsigned profile) {
  switch (profile) {
    case 7:
    case 8:
      return "+me";  // the GPU's media engines
    case 10:
    case 11:
    case 12:
    case 17:
      return "+gfx";
    case 13:
    case 14:
      return "-me";
    case 15:
    case 16:
      return "+me.all";
    default:
      return "";
  }
}

nvml::Answer<MigDevice> ReadDevice(const nvml::Library& library, nvml::DeviceHandle gpu,
                                   nvml::DeviceHandle handle, uint64_t gpu_memory_bytes) {
  const auto uuid = library.Uuid(handle);
  const auto attributes = library.Attributes(handle);
  const auto gpu_instance = library.GpuInstance(handle);
  const auto compute_instance = library.ComputeInstance(handle);
  if (!uuid) return tl::unexpected(uuid.error());
  if (!attributes) return tl::unexpected(attributes.error());
  if (!gpu_instance) return tl::unexpected(gpu_instance.error());
  if (!compute_instance) return tl::unexpected(compute_instance.error());
  // Only a privileged agent may read it. Others give one name to profiles that differ only in
  // attributes.
  const auto profile = library.GpuInstanceProfile(gpu, *gpu_instance);
  return MigDevice{.uuid = *uuid,
                   .profile = ProfileName(*attributes, gpu_memory_bytes,
                                          profile ? std::optional(*profile) : std::nullopt),
                   .gpu_instance = *gpu_instance,
                   .compute_instance = *compute_instance,
                   .attributes = *attributes,
                   .known = profile != nvml::kUnknownProfile};
}

}  // namespace

std::string Mig::Trouble() const {
  const auto unknown = std::ranges::find(devices, false, &MigDevice::known);
  if (unknown == devices.end()) return "";
  return fmt::format(
      "has the MIG device {}, of a profile of the size of {} that is not known here: make it of "
      "another profile",
      unknown->uuid, unknown->profile);
}

nvml::Answer<Mig> ReadMig(const nvml::Library& library, nvml::DeviceHandle gpu) {
  const auto enabled = library.IsInMigMode(gpu);
  if (!enabled) return tl::unexpected(enabled.error());
  if (!*enabled) return Mig{};
  const auto memory = library.MemoryOf(gpu);
  if (!memory) return tl::unexpected(memory.error());
  const auto handles = library.MigDevices(gpu);
  if (!handles) return tl::unexpected(handles.error());
  Mig mig{.enabled = true};
  for (const auto& [index, handle] : *handles) {
    auto device = ReadDevice(library, gpu, handle, memory->total);
    if (!device) return tl::unexpected(device.error());
    device->index = index;
    mig.devices.push_back(*std::move(device));
  }
  return mig;
}

std::string ProfileName(const nvml::DeviceAttributes& attributes, uint64_t gpu_memory_bytes,
                        std::optional<unsigned> gpu_instance_profile) {
  // As NVIDIA's tools compute it: the instance's part of the GPU's memory in eighths, times the
  // GPU's whole GiB.
  constexpr double kGib = 1 << 30;
  const auto whole = static_cast<double>(gpu_memory_bytes);
  const auto part = static_cast<double>(attributes.memory_mib << 20);
  const double gigabytes = std::round(std::ceil(8 * part / whole) / 8 * std::ceil(whole / kGib));
  const uint32_t slices = attributes.gpu_instance_slices;
  const uint32_t compute = attributes.compute_instance_slices;
  return fmt::format("{}{}g.{}gb{}", compute == slices ? "" : fmt::format("{}c.", compute), slices,
                     static_cast<int>(gigabytes),
                     gpu_instance_profile ? AttributeOf(*gpu_instance_profile) : "");
}

std::vector<std::string> CapabilityNodes(std::string_view mig_minors, unsigned gpu_minor,
                                         const MigDevice& device) {
  const std::string gpu_instance = fmt::format("gpu{}/gi{}", gpu_minor, device.gpu_instance);
  const std::string wanted[] = {
      gpu_instance + "/access ",
      fmt::format("{}/ci{}/access ", gpu_instance, device.compute_instance)};
  const std::vector<std::string> lines = Split(mig_minors, '\n');
  std::vector<std::string> nodes;
  for (const std::string& begin : wanted) {
    for (const std::string& line : lines) {
      if (!line.starts_with(begin)) continue;
      nodes.push_back(fmt::format("/dev/nvidia-caps/nvidia-cap{}", line.substr(begin.size())));
    }
  }
  return nodes;
}

}  // namespace tessera::nvidia
