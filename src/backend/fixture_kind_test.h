// SPDX-License-Identifier: Apache-2.0
// For tests: a kind of PCI cards with properties that no kind of the product has yet. The test sets
// the cards, and writes the bus's files into a tree of its own.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "backend/backend.h"
#include "backend/node_facts.h"
#include "backend/pci_place.h"
#include "os/files.h"

namespace tessera {

// A host's files below a directory of its own.
class FixtureTree {
 public:
  ~FixtureTree() { EXPECT_TRUE(os::RemoveTree(root_.prefix())); }
  const os::Root& root() const { return root_; }

  void Write(const std::string& path, const std::string& content = "") const {
    Parents(path);
    EXPECT_TRUE(os::WriteFileAtomically(root_.Path(path), content));
  }
  void Link(const std::string& path, const std::string& target) const {
    Parents(path);
    EXPECT_EQ(symlink(target.c_str(), root_.Path(path).c_str()), 0) << path;
  }
  // Adds the function of the bus at the end of this path: "pci0000:40/0000:40:01.0/0000:47:00.0".
  void AddPci(const std::string& path, const std::string& iommu_group = "") const {
    const std::string directory = "/sys/devices/" + path;
    Write(directory + "/vendor", "0x1d1d\n");
    const std::string address = path.substr(path.rfind('/') + 1);
    Link("/sys/bus/pci/devices/" + address, "../../../devices/" + path);
    if (iommu_group.empty()) return;
    Link(directory + "/iommu_group", "/sys/kernel/iommu_groups/" + iommu_group);
  }

 private:
  void Parents(const std::string& path) const {
    EXPECT_TRUE(os::MakeDirectories(root_.Path(path.substr(0, path.rfind('/')))));
  }

  const os::Root root_{os::MakeTemporaryDirectory(testing::TempDir() + "fixture").value()};
};

struct FixtureCard {
  std::string id;
  std::string address{};  // on the PCI bus; empty: on none
  DeviceTraits traits{};  // besides its place there
  std::vector<WantedNode> nodes{};
};

class FixtureBackend : public Backend {
 public:
  FixtureBackend(std::string resource, os::Root root)
      : resource_(std::move(resource)), root_(std::move(root)) {}

  std::vector<FixtureCard> cards;

  Status Start(BackendEvents&) override { return {}; }
  void Stop() override {}
  Result<std::vector<Device>> Scan() override { return Devices(); }
  Evidence Check(const Device&) override { return {}; }

  std::vector<Device> Devices() const {
    std::vector<Device> devices;
    for (const FixtureCard& card : cards) devices.push_back(Describe(card));
    return devices;
  }

 private:
  Device Describe(const FixtureCard& card) const {
    Device device;
    device.key = {resource_, card.id};
    device.address = card.address;
    device.visible_as = card.id;
    DeviceTraits traits = card.traits;
    if (!card.address.empty()) ReadPciPlace(root_, card.address, traits);
    device.traits = std::move(traits);
    AddNodes(root_, card.nodes, device);
    return device;
  }

  const std::string resource_;
  const os::Root root_;
};

}  // namespace tessera
