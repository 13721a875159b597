// SPDX-License-Identifier: Apache-2.0
// Devices that are prepared for grants, and devices that are outstanding.
#include <gtest/gtest.h>

#include "node/node_under_test.h"

namespace tessera {
namespace {

class NodePreparedTest : public testing::Test, public NodeUnderTest {};

TEST_F(NodePreparedTest, ADeviceThatIsNotBackIsOutAndNoOther) {
  node_.UpdateDevices(kSource, {Npu("0"), Npu("1")});
  node_.Observe(kSource, {Good("0"), Good("1")});
  TakeTold();
  const Error why{Reason::kNotUnprepared, "it is not back"};
  node_.SetPrepared({{kSource, "0"}}, {{{kSource, "0"}, why}});
  EXPECT_EQ(TakeTold(), "bad:dummy.com/npu ");
  node_.SetPrepared({{kSource, "0"}}, {{{kSource, "0"}, why}});
  EXPECT_EQ(TakeTold(), "") << "it is told once";
  EXPECT_EQ(Trouble("0"), why);
  EXPECT_EQ(Trouble("1"), std::nullopt);

  node_.SetPrepared({});
  EXPECT_EQ(TakeTold(), "change:dummy.com/npu ");
  EXPECT_EQ(Trouble("0"), std::nullopt);
}

TEST_F(NodePreparedTest, WhereNothingCanBePreparedAllDevicesOfTheSourceAreOut) {
  node_.UpdateDevices(kSource, {Npu("0")});
  node_.Observe(kSource, {Good("0")});
  TakeTold();
  const Error why{Reason::kIo, "nothing can be prepared for containers: the disk is full"};

  node_.SetPrepared({}, {}, {{kSource, why}});

  EXPECT_EQ(TakeTold(), "bad:dummy.com/npu ");
  EXPECT_EQ(Trouble("0"), why);
  node_.SetPrepared({});
  EXPECT_EQ(TakeTold(), "change:dummy.com/npu ");
  EXPECT_EQ(Trouble("0"), std::nullopt);
}

TEST_F(NodePreparedTest, WhatIsPreparedOnADeviceKeepsItFromLeaving) {
  node_.ledger().Reconcile({}, {kSource}, clock_.Now());
  node_.UpdateDevices(kSource, {Npu("0"), Npu("1")});
  node_.SetPrepared({{kSource, "0"}});

  node_.UpdateDevices(kSource, {});
  node_.UpdateDevices(kSource, {});
  EXPECT_EQ(KnownDevices(), "dummy.com/npu/0 ");

  node_.SetPrepared({});
  node_.UpdateDevices(kSource, {});
  EXPECT_EQ(KnownDevices(), "");
}

TEST_F(NodePreparedTest, TheSameHardwareIsOfferedByNoOtherResourceUntilItIsBack) {
  const std::string other = "dummy.com/other";
  for (const std::string& source : {kSource, other}) node_.Configure(source, true);
  node_.ledger().Reconcile({}, {kSource, other}, clock_.Now());
  node_.UpdateDevices(other, {Npu("0")});
  node_.SetPrepared({{other, "0"}});
  node_.Retire(other);
  node_.EndRetired(other);
  node_.UpdateDevices(kSource, {Npu("0")});
  node_.Observe(kSource, {Good("0")});
  TakeTold();
  EXPECT_EQ(Trouble("0"),
            (Error{Reason::kHeldElsewhere, "it may still be in use as dummy.com/other/0"}));

  node_.SetPrepared({});

  EXPECT_EQ(TakeTold(), "change:dummy.com/npu ");
  EXPECT_TRUE(node_.EndRetired(other));
  EXPECT_EQ(Trouble("0"), std::nullopt);
}

}  // namespace
}  // namespace tessera
