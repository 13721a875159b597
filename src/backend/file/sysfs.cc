// SPDX-License-Identifier: Apache-2.0
#include "backend/file/sysfs.h"

#include <fmt/core.h>
#include <sys/sysmacros.h>

#include <charconv>
#include <filesystem>
#include <system_error>

#include "base/text.h"

namespace tessera::file {
namespace {

namespace fs = std::filesystem;
using Type = os::FileInfo::Type;

std::string SysfsPath(const os::FileInfo& node) {
  return fmt::format("/sys/dev/{}/{}:{}", node.type == Type::kBlockDevice ? "block" : "char",
                     major(node.rdev), minor(node.rdev));
}

}  // namespace

bool IsDeviceNode(Type type) {
  return type == Type::kCharDevice || type == Type::kBlockDevice;
}

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

std::string HardwareOf(const os::Root& root, const os::FileInfo& node) {
  if (!IsDeviceNode(node.type)) return "";
  std::error_code error;
  const fs::path at = fs::canonical(root.Path(SysfsPath(node) + "/device"), error);
  return error ? "" : root.WithoutPrefix(at.string());
}

std::string SubsystemOf(const os::Root& root, const os::FileInfo& node) {
  std::error_code error;
  const fs::path link = fs::read_symlink(root.Path(SysfsPath(node) + "/subsystem"), error);
  return error ? "" : link.filename().string();
}

}  // namespace tessera::file
