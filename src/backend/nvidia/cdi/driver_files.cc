// SPDX-License-Identifier: Apache-2.0
#include "backend/nvidia/cdi/driver_files.h"

#include <fmt/core.h>
#include <unistd.h>

#include <array>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "os/files.h"
#include "os/owner.h"

namespace tessera::nvidia {
namespace {

constexpr std::array<std::string_view, 6> kPrograms = {
    "/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"};
constexpr std::array<std::string_view, 7> kBinaries = {"nvidia-smi",
                                                       "nvidia-debugdump",
                                                       "nvidia-persistenced",
                                                       "nvidia-cuda-mps-control",
                                                       "nvidia-cuda-mps-server",
                                                       "nvidia-imex",
                                                       "nvidia-imex-ctl"};

// Directories of configuration; the first hit counts.
constexpr std::array<std::string_view, 3> kConfigurationRoots = {"/etc", "/usr/local/share",
                                                                 "/usr/share"};
constexpr std::array<std::string_view, 8> kConfiguration = {
    "glvnd/egl_vendor.d/10_nvidia.json",
    "egl/egl_external_platform.d/15_nvidia_gbm.json",
    "egl/egl_external_platform.d/10_nvidia_wayland.json",
    "egl/egl_external_platform.d/09_nvidia_wayland2.json",
    "nvidia/nvoptix.bin",
    "X11/xorg.conf.d/10-nvidia.conf",
    "X11/xorg.conf.d/nvidia-drm-outputclass.conf",
    "OpenCL/vendors/nvidia.icd"};
#ifdef __aarch64__
constexpr std::string_view kVulkanOfMachine = "vulkan/icd.d/nvidia_icd.aarch64.json";
#else
constexpr std::string_view kVulkanOfMachine = "vulkan/icd.d/nvidia_icd.x86_64.json";
#endif
// Containers get these below /etc, wherever they are found.
constexpr std::array<std::string_view, 4> kVulkan = {
    "vulkan/icd.d/nvidia_icd.json", "vulkan/icd.d/nvidia_layers.json", kVulkanOfMachine,
    "vulkan/implicit_layer.d/nvidia_layers.json"};

constexpr std::array<std::string_view, 2> kRuntimeDirectories = {"/run", "/var/run"};
constexpr std::array<std::string_view, 2> kSockets = {"nvidia-persistenced/socket",
                                                      "nvidia-fabricmanager/socket"};
constexpr char kMpsPipes[] = "/tmp/nvidia-mps";

void Add(const Tree& tree, const std::string& path, const std::string& in_container,
         std::vector<DriverFile>& found) {
  const std::string source = tree.Follow(path);
  if (!source.empty() && tree.Has(source)) found.push_back({in_container, source});
}

void AddConfiguration(const Tree& tree, std::string_view name, bool always_in_etc,
                      std::vector<DriverFile>& found) {
  for (const std::string_view root : kConfigurationRoots) {
    const std::string path = fmt::format("{}/{}", root, name);
    if (!tree.Has(tree.Follow(path))) continue;
    return Add(tree, path, always_in_etc ? fmt::format("/etc/{}", name) : path, found);
  }
}

std::string KernelFile(const os::Root& root, const char* path) {
  const auto text = os::ReadFile(root.Path(path));
  return text ? std::string(Trim(*text)) : "";
}

// The kernel's search order. The first directory with the driver's own version counts.
void AddFirmware(const os::Root& root, const Tree& tree, const std::string& version,
                 std::vector<DriverFile>& found) {
  const std::string custom = KernelFile(root, "/sys/module/firmware_class/parameters/path");
  const std::string kernel = KernelFile(root, "/proc/sys/kernel/osrelease");
  std::vector<std::string> directories;
  if (!custom.empty()) directories.push_back(custom);
  for (const std::string_view base : {"/lib/firmware/updates", "/lib/firmware"}) {
    if (!kernel.empty()) directories.push_back(fmt::format("{}/{}", base, kernel));
    directories.emplace_back(base);
  }
  for (const std::string& directory : directories) {
    const std::string of_driver = fmt::format("{}/nvidia/{}", directory, version);
    const std::vector<std::string> names = NamesLike(tree, of_driver, "gsp*.bin");
    for (const std::string& name : names) {
      const std::string path = fmt::format("{}/{}", of_driver, name);
      Add(tree, path, path, found);
    }
    if (!names.empty()) return;
  }
}

// In /tmp any user can make a link that leads anywhere.
bool IsDirectoryOfRoot(const std::string& path) {
  const auto info = os::Inspect(path);
  const auto owner = os::OwnerOf(path);
  return info && info->type == os::FileInfo::Type::kDirectory && owner &&
         (owner->user == 0 || owner->user == geteuid());
}

}  // namespace

std::string FindProgram(const Tree& tree, const std::string& name) {
  for (const std::string_view directory : kPrograms) {
    const std::string path = fmt::format("{}/{}", directory, name);
    const auto info = os::Inspect(tree.seen + tree.Follow(path));
    if (info && info->type == os::FileInfo::Type::kFile) return path;
  }
  return "";
}

DriverFiles FindDriverFiles(const os::Root& root, const Tree& tree) {
  DriverFiles found{.libraries = FindLibraries(tree)};
  for (const std::string_view name : kBinaries) {
    const std::string path = FindProgram(tree, std::string(name));
    if (!path.empty()) Add(tree, path, path, found.files);
  }
  for (const std::string_view name : kConfiguration) {
    AddConfiguration(tree, name, false, found.files);
  }
  for (const std::string_view name : kVulkan) AddConfiguration(tree, name, true, found.files);
  if (!found.libraries.version.empty()) {
    AddFirmware(root, tree, found.libraries.version, found.files);
  }
  for (const std::string_view name : kSockets) {
    const size_t before = found.sockets.size();
    for (const std::string_view directory : kRuntimeDirectories) {
      // /run and /var/run are usually one directory.
      if (found.sockets.size() > before) break;
      const std::string path = fmt::format("{}/{}", directory, name);
      Add(tree, path, path, found.sockets);
    }
  }
  if (IsDirectoryOfRoot(tree.seen + kMpsPipes)) Add(tree, kMpsPipes, kMpsPipes, found.sockets);
  return found;
}

}  // namespace tessera::nvidia
