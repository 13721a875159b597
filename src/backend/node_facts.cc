// SPDX-License-Identifier: Apache-2.0
#include "backend/node_facts.h"

#include <fmt/core.h>
#include <sys/sysmacros.h>

namespace tessera {

void AddNodes(const os::Root& root, std::span<const WantedNode> wanted, Device& device) {
  for (const auto& [node, optional] : wanted) {
    const auto there = os::InspectTarget(root.Path(node.host_path));
    if (there) {
      device.nodes.push_back(node);
      continue;
    }
    const bool missing = there.error().reason == Reason::kNotFound;
    if ((optional && missing) || device.defect) continue;
    device.defect = {Reason::kUnreadable,
                     missing ? fmt::format("{} is not there: see whether the device's driver is "
                                           "loaded",
                                           node.host_path)
                             : there.error().message};
  }
}

void DescribeNode(const std::string& seen_below, cdi::Node& node) {
  const std::string path = os::FollowBelow(seen_below, seen_below + node.OnHost());
  const auto info = os::Inspect(path);
  if (!info) return;
  const bool block = info->type == os::FileInfo::Type::kBlockDevice;
  if (!block && info->type != os::FileInfo::Type::kCharDevice) return;
  node.type.assign(1, block ? 'b' : 'c');
  node.major = major(info->rdev);
  node.minor = minor(info->rdev);
  node.file_mode = info->mode & 0777;
  const std::string on_host = path.substr(seen_below.size());
  node.host_path = on_host == node.path ? "" : on_host;
}

}  // namespace tessera
