// SPDX-License-Identifier: Apache-2.0
#include "backend/file/describe.h"

#include <sys/sysmacros.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <system_error>

#include "backend/file/device_id.h"
#include "backend/file/glob.h"
#include "base/text.h"

namespace tessera::file {
namespace {

namespace fs = std::filesystem;
using Type = os::FileInfo::Type;

bool IsDeviceNode(Type type) {
  return type == Type::kCharDevice || type == Type::kBlockDevice;
}

std::string SysfsPath(const os::FileInfo& node) {
  return fmt::format("/sys/dev/{}/{}:{}", node.type == Type::kBlockDevice ? "block" : "char",
                     major(node.rdev), minor(node.rdev));
}

// The NUMA node of the hardware behind a device node: of the nearest parent in sysfs that has one,
// as that of a serial port is known from its USB controller.
std::optional<int> NumaNode(const os::Root& root, const os::FileInfo& node) {
  std::error_code error;
  fs::path at = fs::canonical(root.Path(SysfsPath(node) + "/device"), error);
  if (error) at = fs::canonical(root.Path(SysfsPath(node)), error);
  if (error) return std::nullopt;
  const std::string top = root.Path("/sys/");
  for (; at.string().starts_with(top); at = at.parent_path()) {
    const Result<std::string> text = os::ReadFile((at / "numa_node").string());
    if (!text) continue;
    const std::string_view digits = Trim(*text);
    int number = -1;
    std::from_chars(digits.data(), digits.data() + digits.size(), number);
    return number < 0 ? std::nullopt : std::optional(number);
  }
  return std::nullopt;
}

// What people call it: the kernel's subsystem ("tty", "video4linux"), or the type of file.
std::string Model(const os::Root& root, const os::FileInfo& info) {
  std::error_code error;
  if (IsDeviceNode(info.type)) {
    const fs::path link = fs::read_symlink(root.Path(SysfsPath(info) + "/subsystem"), error);
    if (!error && link.has_filename()) return link.filename().string();
  }
  return std::string(TypeName(info.type));
}

// Why the configuration cannot have meant this file.
std::optional<Error> Misfit(const FileConfig::Path& path, const std::string& file, Type type) {
  if (IsDeviceNode(type) && path.mount) {
    return Error{Reason::kInvalid,
                 fmt::format("{} is a {}, which a container cannot use through a mount: remove "
                             "'mount: true' for {}",
                             file, TypeName(type), path.pattern)};
  }
  if (!IsDeviceNode(type) && !path.mount) {
    return Error{Reason::kInvalid,
                 fmt::format("{} is a {} and no device node: set 'mount: true' for {}", file,
                             TypeName(type), path.pattern)};
  }
  return std::nullopt;
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
  if (device.model.empty()) device.model = Model(root, *info);
  std::string host = Resolve(root, file);
  std::string container = ContainerPath(path, file);
  if (path.mount) {
    device.mounts.push_back({std::move(host), std::move(container), path.read_only});
    return;
  }
  device.nodes.push_back({std::move(host), std::move(container), path.permissions});
  if (const std::optional<int> numa = NumaNode(root, *info)) device.numa_nodes.push_back(*numa);
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
