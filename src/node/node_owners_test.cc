// SPDX-License-Identifier: Apache-2.0
// Functions of the PCI bus that several kinds of device claim.
#include <gtest/gtest.h>

#include "node/node_under_test.h"

namespace tessera {
namespace {

constexpr char kFunction[] = "pci0000:40/0000:40:01.0/0000:47:00.0";
const std::string kNic = "fixture.com/nic";    // of kind "nic"
const std::string kRdma = "fixture.com/rdma";  // likewise
const std::string kVfio = "fixture.com/a";     // of kind "vfio"; the first in order

class OwnersTest : public testing::Test, public NodeUnderTest {
 protected:
  OwnersTest() {
    Configure(node_);
    node_.ledger().Reconcile({}, {kNic, kRdma, kVfio}, clock_.Now());
  }
  static void Configure(RecordedNode& node) {
    node.Configure(kNic, false, "nic");
    node.Configure(kRdma, false, "nic");
    node.Configure(kVfio, false, "vfio");
  }
  void Find(const std::string& source, const std::string& path = kFunction) {
    Device device = Npu("0");
    device.key.source = source;
    device.traits = DeviceTraits{.pci_path = path};
    node_.UpdateDevices(source, {device});
    node_.Observe(source, {{device.key, Good("").evidence}});
    TakeTold();
  }
  std::optional<Error> TroubleOf(const std::string& source) {
    return node_.TroubleOf(*node_.inventory()->Find({source, "0"}));
  }
  static Error ClaimedBy(const std::string& source, const std::string& kind) {
    return {Reason::kClaimed,
            "its PCI function 0000:47:00.0 belongs to " + source + "/0, a device of kind " + kind};
  }
};

TEST_F(OwnersTest, AFunctionIsOfTheKindThatHadItFirst) {
  Find(kNic);
  Find(kVfio);

  EXPECT_EQ(TroubleOf(kNic), std::nullopt);
  EXPECT_EQ(TroubleOf(kVfio), ClaimedBy(kNic, "nic"));
}

TEST_F(OwnersTest, SeveralDevicesOfAKindMayBeOnOne) {
  Find(kNic);
  Find(kRdma);

  EXPECT_EQ(TroubleOf(kNic), std::nullopt);
  EXPECT_EQ(TroubleOf(kRdma), std::nullopt);
}

TEST_F(OwnersTest, OtherFunctionsAreOthers) {
  Find(kNic);
  Find(kVfio, "pci0000:40/0000:40:01.0/0000:47:00.1");

  EXPECT_EQ(TroubleOf(kVfio), std::nullopt);
}

TEST_F(OwnersTest, ItGoesToTheOtherKindWhenTheFirstHasItNoMore) {
  Find(kNic);
  Find(kVfio);

  node_.UpdateDevices(kNic, {});

  EXPECT_EQ(TakeTold(), "change:fixture.com/a bad:fixture.com/nic 0=unhealthy ");
  EXPECT_EQ(TroubleOf(kVfio), std::nullopt);
}

TEST_F(OwnersTest, WhileAContainerHasItUnderTheFirstKindItStays) {
  Find(kNic);
  Find(kVfio);
  node_.ledger().inbox()->Put(kNic, {"0"}, clock_.Now());

  node_.UpdateDevices(kNic, {});

  EXPECT_EQ(TroubleOf(kVfio), ClaimedBy(kNic, "nic"));
}

TEST_F(OwnersTest, AfterARestartItIsOfTheKindThatAContainerHasItBy) {
  Find(kNic);
  Find(kVfio);
  RecordedNode next(clock_, {});
  next.Restore(SavedFacts(), SavedVerdicts());
  Configure(next);
  next.ledger().Presume({{"", "", "", "main", kNic, {"0"}}});

  next.LookAtRivals();

  EXPECT_EQ(next.TroubleOf(*next.inventory()->Find({kNic, "0"})), std::nullopt);
  EXPECT_EQ(next.TroubleOf(*next.inventory()->Find({kVfio, "0"})), ClaimedBy(kNic, "nic"));
}

TEST_F(OwnersTest, AfterARestartItIsOfTheKindThatItIsPreparedFor) {
  Find(kNic);
  Find(kVfio);
  RecordedNode next(clock_, {});
  next.Restore(SavedFacts(), SavedVerdicts());
  Configure(next);
  next.ledger().Presume({});
  next.LookAtRivals();

  next.SetPrepared({{kNic, "0"}});
  next.LookAtRivals();

  EXPECT_EQ(next.TroubleOf(*next.inventory()->Find({kNic, "0"})), std::nullopt);
  EXPECT_EQ(next.TroubleOf(*next.inventory()->Find({kVfio, "0"})), ClaimedBy(kNic, "nic"));
}

}  // namespace
}  // namespace tessera
