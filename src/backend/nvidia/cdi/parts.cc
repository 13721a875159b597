// SPDX-License-Identifier: Apache-2.0
#include "backend/nvidia/cdi/parts.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "backend/nvidia/cdi/hooks.h"
#include "backend/nvidia/cdi/nodes.h"
#include "backend/nvidia/cdi/platforms.h"
#include "backend/nvidia/core/gpu.h"
#include "base/text.h"
#include "os/process.h"

namespace tessera::nvidia {
namespace {

bool IsShared(const std::string& path) {
  return std::ranges::count(kSharedNodes, path) > 0;
}

void AddShared(const std::string& path, const Nodes& nodes, cdi::Edits& edits) {
  if (std::ranges::count(edits.nodes, path, &cdi::Node::path) == 0) nodes.Add(path, edits);
}

void AddMount(const Tree& tree, const DriverFile& file, std::vector<std::string> options,
              cdi::Edits& edits) {
  edits.mounts.push_back({.host_path = tree.host + file.source,
                          .container_path = file.path,
                          .options = std::move(options)});
}

// The driver's files for every container.
void AddDriver(const Tree& tree, const DriverFiles& files, const Hooks& hooks, cdi::Edits& edits) {
  const DriverLibraries& libraries = files.libraries;
  if (!libraries.directories.empty()) {
    edits.env.push_back("NVIDIA_CTK_LIBCUDA_DIR=" + Join(libraries.directories, ":"));
  }
  for (const DriverFile& file : libraries.files) AddMount(tree, file, ReadOptions(), edits);
  for (const DriverFile& file : files.files) AddMount(tree, file, ReadOptions(), edits);
  if (!hooks.Without(CdiPiece::kIpcSockets)) {
    for (const DriverFile& socket : files.sockets) AddMount(tree, socket, SocketOptions(), edits);
  }
  if (hooks.available()) {
    hooks.AddFor(libraries, edits);
  } else {
    MountUnderAllNames(tree, libraries, edits);
  }
}

cdi::Edits OwnEdits(const Device& device, const Nodes& nodes, const Hooks& hooks) {
  cdi::Edits edits;
  for (const DeviceNode& node : device.nodes) {
    const std::string& path = node.container_path;
    if (!IsShared(path) && path != kImexChannel) nodes.Add(path, edits);
  }
  const bool is_mig = !device.parent.empty();
  const bool draws = !is_mig || device.model.find("gfx") != std::string::npos;
  if (draws) nodes.AddDrm(device.address, hooks, edits);
  return edits;
}

struct FeatureNodes {
  Feature feature;
  const char* name;  // in the configuration, and the class of its document
  const char* directory;
  const char* pattern;
  const char* remedy;
};
constexpr std::array<FeatureNodes, 3> kFeatures = {
    FeatureNodes{Feature::kGdrcopy, "gdrcopy", "/dev", "gdrdrv",
                 "install GDRCopy and load its kernel module, gdrdrv"},
    FeatureNodes{Feature::kGds, "gds", "/dev", "nvidia-fs*",
                 "install GPUDirect Storage and load its kernel module, nvidia-fs"},
    FeatureNodes{Feature::kMofed, "mofed", "/dev/infiniband", "uverbs*",
                 "install the driver of the network adapters and load ib_uverbs and rdma_ucm"}};

bool HasFeature(const NvidiaConfig& config, Feature feature) {
  return std::ranges::count(config.features, feature) > 0;
}

// Adds a document of its own class with one device; none if the node lacks the device.
void AddOther(const NvidiaConfig& config, const char* of_class, const char* device,
              cdi::Edits edits, cdi::Parts& parts) {
  if (edits.nodes.empty()) return;
  cdi::Sort(edits);
  parts.others.push_back({.kind = fmt::format("{}/{}", config.cdi_vendor, of_class),
                          .devices = {{.name = device, .edits = std::move(edits)}}});
}

void AddOthers(const os::Root& root, const NvidiaConfig& config, const Tree& tree,
               const Nodes& nodes, cdi::Parts& parts) {
  if (config.imex != Imex::kNone && ImexNode(root, config)) {
    cdi::Edits edits;
    nodes.Add(kImexChannel, edits);
    AddOther(config, "imex-channel", "0", std::move(edits), parts);
  }
  for (const FeatureNodes& feature : kFeatures) {
    if (!HasFeature(config, feature.feature)) continue;
    cdi::Edits edits;
    nodes.AddLike(feature.directory, feature.pattern, edits);
    if (feature.feature == Feature::kMofed) nodes.AddLike(feature.directory, "rdma_cm", edits);
    if (feature.feature == Feature::kGds) {
      for (const char* path : {"/run/udev", "/etc/cufile.json"}) {
        const std::string source = tree.Follow(path);
        if (tree.Has(source)) AddMount(tree, {path, source}, ReadOptions(), edits);
      }
    }
    AddOther(config, feature.name, "all", std::move(edits), parts);
  }
}

}  // namespace

Tree DriverTree(const os::Root& root, const NvidiaConfig& config) {
  const std::string& on_host =
      config.host_driver_root.empty() ? config.driver_root : config.host_driver_root;
  for (const std::string& seen : {config.driver_root, on_host}) {
    const std::string path = root.Path(Below(seen, ""));
    if (seen != "/" && os::Exists(path)) return {.seen = path, .host = Below(on_host, "")};
  }
  // In a pod, files below the own root are not the host's. An empty tree is better, and is logged.
  if (config.driver_root != "/" && os::RunsInPod()) {
    return {.seen = root.Path(Below(config.driver_root, "")), .host = Below(on_host, "")};
  }
  return {.seen = root.prefix(), .host = ""};
}

std::vector<MissingFeature> MissingFeatures(const NvidiaConfig& config, const cdi::Parts& parts) {
  std::vector<MissingFeature> missing;
  for (const FeatureNodes& feature : kFeatures) {
    const std::string kind = fmt::format("{}/{}", config.cdi_vendor, feature.name);
    if (!HasFeature(config, feature.feature)) continue;
    if (std::ranges::count(parts.others, kind, &cdi::Document::kind) > 0) continue;
    const std::string path = fmt::format("{}/{}", feature.directory, feature.pattern);
    missing.push_back({feature.name, Below(config.dev_root, path), feature.remedy});
  }
  return missing;
}

cdi::Parts DescribeForCdi(const os::Root& root, const NvidiaConfig& config,
                          const DriverFiles& files, const std::vector<Device>& devices) {
  const Tree tree = DriverTree(root, config);
  // The host's own root, which has its programs, if this process sees it.
  const bool is_ours = Below(config.driver_root, "") == tree.host;
  const Tree host{.seen = tree.host.empty() ? tree.seen : root.prefix()};
  const Hooks hooks(FindHook(config, tree.host.empty() || is_ours ? &host : nullptr),
                    config.cdi_leave_out);
  const Nodes nodes(root, config);
  cdi::Parts parts;
  // Keeps NVIDIA's runtime, if the node uses it, from injecting a second time.
  parts.common.env = {"NVIDIA_VISIBLE_DEVICES=void"};
  if (std::ranges::none_of(devices, IsWholePlatform)) {
    AddDriver(tree, files, hooks, parts.common);
    // Also if none of these devices can be read, as others of the kind may be good.
    for (const std::string_view path : kSharedNodes) {
      if (nodes.Has(std::string(path))) AddShared(std::string(path), nodes, parts.common);
    }
  }
  for (const Device& device : devices) {
    for (const DeviceNode& node : device.nodes) {
      if (IsShared(node.container_path)) AddShared(node.container_path, nodes, parts.common);
    }
    cdi::Edits own = OwnEdits(device, nodes, hooks);
    AddPlatform(tree, device.key.id, nodes, hooks, own);
    cdi::Sort(own);
    parts.devices[device.key.id] = std::move(own);
  }
  cdi::Sort(parts.common);
  AddOthers(root, config, tree, nodes, parts);
  return parts;
}

}  // namespace tessera::nvidia
