// SPDX-License-Identifier: Apache-2.0
#include "backend/node_facts.h"

#include <sys/sysmacros.h>

#include "os/files.h"

namespace tessera {

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
