// SPDX-License-Identifier: Apache-2.0
#include "backend/file/describe.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "backend/file/device_id.h"
#include "backend/file/directory_nodes.h"
#include "backend/file/glob.h"
#include "backend/file/sysfs.h"

namespace tessera::file {
namespace {

namespace fs = std::filesystem;
using Type = os::FileInfo::Type;

// The device's model: the kernel's subsystem ("tty", "video4linux"), or the type of file.
std::string Model(const os::Root& root, const os::FileInfo& info) {
  std::string subsystem = IsDeviceNode(info.type) ? SubsystemOf(root, info) : "";
  return subsystem.empty() ? std::string(TypeName(info.type)) : subsystem;
}

// Why the configuration cannot mean this file.
std::optional<Error> Misfit(const FileConfig::Path& path, const std::string& file, Type type) {
  if (IsDeviceNode(type) && path.mount) {
    return Error{Reason::kInvalid,
                 fmt::format("{} is a {}, which a container cannot use through a mount: remove "
                             "'mount: true' for {}",
                             file, TypeName(type), path.pattern)};
  }
  if (!IsDeviceNode(type) && type != Type::kDirectory && !path.mount) {
    return Error{Reason::kInvalid,
                 fmt::format("{} is a {}, not a device node: set 'mount: true' for {}", file,
                             TypeName(type), path.pattern)};
  }
  return std::nullopt;
}

void AddNode(Device& device, const os::Root& root, DeviceNode node, const os::FileInfo& info) {
  device.nodes.push_back(std::move(node));
  if (const std::optional<int> numa = NumaNode(root, info)) device.numa_nodes.push_back(*numa);
}

// Adds all nodes below a directory to the device.
Status AddDirectory(Device& device, const os::Root& root, const FileConfig::Path& path,
                    const std::string& directory) {
  const DirectoryNodes below = TRY(NodesBelow(root, directory));
  if (below.nodes.empty()) return Fail(NoNodeBelow(directory));
  if (device.model.empty()) device.model = Model(root, below.nodes.front().info);
  std::string container = ContainerPath(path, directory);
  if (container.ends_with('/')) container.pop_back();
  for (const DirectoryNodes::Node& node : below.nodes) {
    AddNode(device, root, {node.host, container + "/" + node.name, path.permissions}, node.info);
  }
  return {};
}

// Adds one file to the device.
void Add(Device& device, const os::Root& root, const FileConfig::Path& path,
         const std::string& file) {
  const Result<os::FileInfo> info = os::InspectTarget(root.Path(file));
  if (!info) {
    if (!device.defect) device.defect = {Reason::kUnreadable, info.error().message};
    return;
  }
  if (std::optional<Error> misfit = Misfit(path, file, info->type); misfit) {
    if (!device.defect) device.defect = *std::move(misfit);
    return;
  }
  if (info->type == Type::kDirectory && !path.mount) {
    const Status added = AddDirectory(device, root, path, file);
    if (!added && !device.defect) device.defect = added.error();
    return;
  }
  if (device.model.empty()) device.model = Model(root, *info);
  std::string host = Resolve(root, file);
  std::string container = ContainerPath(path, file);
  if (path.mount) {
    device.mounts.push_back({std::move(host), std::move(container), path.read_only});
    return;
  }
  AddNode(device, root, {std::move(host), std::move(container), path.permissions}, *info);
}

}  // namespace

std::string_view TypeName(Type type) {
  switch (type) {
    case Type::kFile:
      return "regular file";
    case Type::kDirectory:
      return "directory";
    case Type::kSymlink:
      return "symbolic link";
    case Type::kSocket:
      return "socket";
    case Type::kCharDevice:
      return "character device";
    case Type::kBlockDevice:
      return "block device";
    case Type::kOther:
      break;
  }
  return "special file";
}

Error NoNodeBelow(const std::string& directory) {
  return {Reason::kUnreadable,
          fmt::format("{} has no device node below it: see whether its driver is loaded, or set "
                      "'mount: true' to mount the directory",
                      directory)};
}

Match Known(const os::Root& root, std::string file) {
  Match match{std::move(file)};
  const Result<os::FileInfo> info = os::InspectTarget(root.Path(match.file));
  if (!info) return match;
  match.target = Resolve(root, match.file);
  match.hardware = HardwareOf(root, *info);
  return match;
}

std::string Resolve(const os::Root& root, const std::string& path) {
  std::error_code error;
  const fs::path real = fs::canonical(root.Path(path), error);
  return error ? path : root.WithoutPrefix(real.string());
}

std::string ContainerPath(const FileConfig::Path& path, const std::string& file) {
  if (path.container_path.empty()) return file;
  const bool directory = path.container_path.ends_with('/') || HasWildcard(path.pattern);
  if (!directory) return path.container_path;
  const std::string fixed = FixedDirectory(path.pattern);
  const std::string_view open = std::string_view(file).substr(fixed == "/" ? 1 : fixed.size() + 1);
  return fmt::format("{}{}{}", path.container_path, path.container_path.ends_with('/') ? "" : "/",
                     open);
}

Device Describe(const os::Root& root, const std::string& resource, const FileConfig::Group& group,
                const Members& members) {
  Device device;
  const Member& first = members.front();
  device.key = {resource, DeviceId(first.file)};
  device.visible_as = ContainerPath(group.paths[first.path], first.file);
  for (const Member& member : members) Add(device, root, group.paths[member.path], member.file);
  if (device.model.empty()) device.model = "file";
  std::ranges::sort(device.numa_nodes);
  const auto repeated = std::ranges::unique(device.numa_nodes);
  device.numa_nodes.erase(repeated.begin(), repeated.end());
  return device;
}

}  // namespace tessera::file
