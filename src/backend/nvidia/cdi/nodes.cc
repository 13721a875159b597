// SPDX-License-Identifier: Apache-2.0
#include "backend/nvidia/cdi/nodes.h"

#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "backend/node_facts.h"
#include "backend/nvidia/core/gpu.h"
#include "os/owner.h"

namespace tessera::nvidia {

Nodes::Nodes(const os::Root& root, const NvidiaConfig& config)
    : root_(root),
      dev_{.seen = root.Path(Below(DevTree(root, config), "")), .host = Below(config.dev_root, "")},
      gids_(std::ranges::count(config.cdi_leave_out, CdiPiece::kAdditionalGids) == 0) {}

void Nodes::Add(const std::string& path, cdi::Edits& edits) const {
  cdi::Node node{.path = path, .permissions = "rwm"};
  std::string seen = dev_.seen;
  DescribeNode(seen, node);
  if (node.type.empty()) {
    // An agent in a container may have the host's node only in its own /dev.
    seen = root_.prefix();
    DescribeNode(seen, node);
  }
  const std::string real = node.OnHost();
  const std::string host = dev_.host + real;
  node.host_path = host == path ? "" : host;
  const auto owner = os::OwnerOf(seen + real);
  constexpr mode_t kAnybody = S_IROTH | S_IWOTH;
  if (gids_ && !node.type.empty() && owner && owner->group != 0 &&
      (owner->mode & kAnybody) != kAnybody) {
    node.gid = owner->group;
    edits.additional_gids.push_back(owner->group);
  }
  edits.nodes.push_back(std::move(node));
}

void Nodes::AddLike(const std::string& directory, const std::string& pattern,
                    cdi::Edits& edits) const {
  for (const std::string& name : NamesLike(dev_, directory, pattern)) {
    Add(fmt::format("{}/{}", directory, name), edits);
  }
}

void Nodes::AddDrm(const std::string& address, const Hooks& hooks, cdi::Edits& edits) const {
  if (address.empty()) return;
  const auto names =
      os::ListDirectory(root_.Path(fmt::format("/sys/bus/pci/devices/{}/drm", address)));
  std::vector<std::string> links;
  for (const std::string& name : names.value_or(std::vector<std::string>())) {
    const std::string path = "/dev/dri/" + name;
    const bool card = name.starts_with("card");
    if ((!card && !name.starts_with("renderD")) || !Has(path)) continue;
    Add(path, edits);
    const std::string link =
        fmt::format("/dev/dri/by-path/pci-{}-{}", address, card ? "card" : "render");
    if (!Has(link)) continue;
    if (hooks.available()) {
      links.push_back(fmt::format("../{}::{}", name, link));
    } else {
      Add(link, edits);
    }
  }
  hooks.AddLinks(links, edits);
}

}  // namespace tessera::nvidia
