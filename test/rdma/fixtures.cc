// SPDX-License-Identifier: Apache-2.0
// The named nodes.
#include <fmt/core.h>

#include "rdma/node.h"

namespace tessera::rdma {

SimNode Two() {
  SimNode node;
  node.nics = {{.address = "0000:3b:00.0",
                .bridges = {"pci0000:3a", "0000:3a:00.0"},
                .interface = "ibp59s0",
                .numa = 0,
                .is_infiniband = true},
               {.address = "0000:af:00.0",
                .bridges = {"pci0000:ae", "0000:ae:00.0"},
                .interface = "ens3f0np0",
                .numa = 1,
                .vfs = 4,
                .iommu_group = 70}};
  node.others = {{.address = "0000:3c:00.0", .bridges = {"pci0000:3a", "0000:3a:02.0"}, .numa = 0},
                 {.address = "0000:b0:00.0", .bridges = {"pci0000:ae", "0000:ae:02.0"}, .numa = 1}};
  return node;
}

// Each switch has a port of its root complex, and a port below it for each device.
SimNode Pairs() {
  SimNode node;
  for (int root = 0; root < 4; ++root) {
    const int bus = 0x10 + 0x20 * root;
    for (int slot = 0; slot < 4; ++slot) {
      const std::vector<std::string> bridges = {fmt::format("pci0000:{:02x}", bus),
                                                fmt::format("0000:{:02x}:01.0", bus),
                                                fmt::format("0000:{:02x}:00.0", bus + 1),
                                                fmt::format("0000:{:02x}:{:02x}.0", bus + 2, slot)};
      const std::string address = fmt::format("0000:{:02x}:00.0", bus + 3 + slot);
      const int numa = root / 2;
      if (slot < 2) {
        node.others.push_back({.address = address, .bridges = bridges, .numa = numa});
      } else {
        node.nics.push_back({.address = address,
                             .bridges = bridges,
                             .interface = fmt::format("ibp{}s0", bus + 3 + slot),
                             .device = 0x1021,
                             .vf_device = 0x101e,
                             .numa = numa,
                             .is_infiniband = true,
                             .iommu_group = 100 + 16 * root + 8 * (slot - 2)});
      }
    }
  }
  return node;
}

SimNode PairsVm() {
  SimNode node = Pairs();
  int bus = 1;
  const auto move = [&](auto& function) {
    function.bridges = {"pci0000:00"};
    function.address = fmt::format("0000:00:{:02x}.0", bus++);
    function.numa.reset();
  };
  for (SimFunction& other : node.others) move(other);
  for (SimNic& nic : node.nics) {
    move(nic);
    nic.total_vfs = 0;
  }
  return node;
}

SimNode Domains() {
  SimNode node;
  for (const char* const domain : {"0001", "10000"}) {
    node.nics.push_back(
        {.address = fmt::format("{}:01:00.0", domain),
         .bridges = {fmt::format("pci{}:00", domain), fmt::format("{}:00:00.0", domain)},
         .interface = fmt::format("enP{}", domain),
         .numa = 0,
         .iommu_group = domain[0] == '0' ? 10 : 30});
  }
  return node;
}

SimNode Efa() {
  SimNode node;
  for (int card = 0; card < 2; ++card) {
    node.nics.push_back({.address = fmt::format("0000:{:02x}:00.0", 0x9c + card),
                         .bridges = {"pci0000:9b", fmt::format("0000:9b:{:02x}.0", card + 1)},
                         .vendor = 0x1d0f,
                         .device = 0xefa2,
                         .numa = 1,
                         .total_vfs = 0,
                         .driver = "efa"});
  }
  return node;
}

SimNode Many() {
  SimNode node;
  for (int card = 0; card < 8; ++card) {
    const int bus = 0x20 + 0x10 * card;
    node.nics.push_back(
        {.address = fmt::format("0000:{:02x}:00.0", bus + 1),
         .bridges = {fmt::format("pci0000:{:02x}", bus), fmt::format("0000:{:02x}:00.0", bus)},
         .interface = fmt::format("ens{}np0", card),
         .numa = card / 4,
         .total_vfs = 125,
         .vfs = 125,
         .iommu_group = 200 * (card + 1)});
  }
  return node;
}

SimNode NamedNode(const std::string& name) {
  if (name == "two") return Two();
  if (name == "pairs") return Pairs();
  if (name == "pairs-vm") return PairsVm();
  if (name == "domains") return Domains();
  if (name == "efa") return Efa();
  if (name == "many") return Many();
  throw BadChange("there is no node " + name +
                  "; there are two, pairs, pairs-vm, domains, efa and many");
}

}  // namespace tessera::rdma
