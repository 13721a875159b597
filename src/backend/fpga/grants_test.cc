// SPDX-License-Identifier: Apache-2.0
// What containers get of FPGAs.
#include <gtest/gtest.h>

#include "backend/fpga/fpga.h"
#include "backend/fpga/node_test.h"
#include "fpga/node.h"
#include "grant/grant.h"

namespace tessera::fpga {
namespace {

using Texts = std::vector<std::string>;

class GrantsTest : public NodeTest {
 protected:
  Offer OfferOf(SimNode hardware, const FpgaConfig& config) {
    const FpgaNode node(directory_, std::move(hardware));
    FpgaBackend backend("a.com/fpga", config, root_, loop_);
    Inventory inventory;
    const std::vector<Device> devices = backend.Scan().value();
    for (const Device& device : devices) inventory.devices.push_back(device);
    return Divide("a.com/fpga", {Policy()}, inventory, "a.com/fpga",
                  [](const Device&) { return std::optional<Error>(); });
  }
  // "/dev/dfl-port.0 rw", one each.
  static Texts Granted(const Offer& offer, const Texts& ids) {
    const auto grant = Allocate(offer, {}, ids);
    if (!grant) return {grant.error().message};
    EXPECT_EQ(grant->mounts, std::vector<Mount>());
    Texts nodes;
    for (const DeviceNode& node : grant->devices) {
      EXPECT_EQ(node.host_path, node.container_path);
      nodes.push_back(node.host_path + " " + node.permissions);
    }
    return nodes;
  }

  os::Loop loop_;
};

TEST_F(GrantsTest, APortIsItsNodeAlone) {
  EXPECT_EQ(Granted(OfferOf(Pac(), {}), {"0000:be:00.0-1"}), Texts{"/dev/dfl-port.2 rw"});
}

TEST_F(GrantsTest, ARegionIsItsPortsAndForDevelopersTheNodeThatProgramsThem) {
  const Offer offer = OfferOf(Pac(), {.mode = FpgaConfig::Mode::kRegionDevel});
  EXPECT_EQ(Granted(offer, {"0000:be:00.0"}),
            (Texts{"/dev/dfl-port.1 rw", "/dev/dfl-port.2 rw", "/dev/dfl-fme.1 rw"}));
}

TEST_F(GrantsTest, ACardOfXilinxsIsTheNodesOfBothFunctions) {
  const Offer offer = OfferOf(Alveo(), {.vendor = FpgaConfig::Vendor::kXilinx});
  EXPECT_EQ(Granted(offer, {"0000:d8:00.1"}),
            (Texts{"/dev/dri/renderD130 rwm", "/dev/xclmgmt55296 rwm"}));
}

TEST_F(GrantsTest, AU30IsGrantedWholeOrNotAtAll) {
  const Offer offer = OfferOf(U30(), {.vendor = FpgaConfig::Vendor::kXilinx});
  EXPECT_EQ(Allocate(offer, {}, Texts{"0000:3b:00.1"}).error().reason, Reason::kIncompleteBundle);
  EXPECT_EQ(Granted(offer, {"0000:3b:00.1", "0000:3c:00.1"}),
            (Texts{"/dev/dri/renderD128 rwm", "/dev/xclmgmt15104 rwm", "/dev/dri/renderD129 rwm",
                   "/dev/xclmgmt15360 rwm"}));
}

}  // namespace
}  // namespace tessera::fpga
