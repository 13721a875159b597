// SPDX-License-Identifier: Apache-2.0
#include "agent/state_saver.h"

#include <gtest/gtest.h>

#include "base/captured_log_test.h"
#include "node/node_under_test.h"
#include "os/files.h"

namespace tessera::agent {
namespace {

class StateSaverTest : public testing::Test, public NodeUnderTest {
 protected:
  StateSaverTest() {
    node_.UpdateDevices(kSource, {Npu("0"), Npu("1")});
    node_.Observe(kSource, {Good("0"), Good("1")});
  }
  ~StateSaverTest() override { (void)os::RemoveTree(dir_); }

  // The state that a new process would read.
  StateSaver::Saved Read() {
    StateSaver reader(other_, metrics_, dir_);
    return reader.Load();
  }
  std::string SavedDevices() {
    std::string text;
    for (const Device& device : Read().facts.value_or(Facts{}).devices) text += device.key.id + " ";
    return text;
  }

  const std::string dir_ = *os::MakeTemporaryDirectory(testing::TempDir() + "saver");
  CapturedLog log_;
  http::Metrics metrics_;
  RecordedNode other_{clock_, {}};
  StateSaver saver_{node_, metrics_, dir_};
};

TEST_F(StateSaverTest, WhatIsKnownIsSavedByTheWriter) {
  ASSERT_TRUE(saver_.TryToBecomeWriter());
  EXPECT_TRUE(saver_.unsaved());

  saver_.SaveAll();

  EXPECT_FALSE(saver_.unsaved());
  EXPECT_EQ(SavedDevices(), "0 1 ");
  EXPECT_EQ(log_.text(), "");
}

TEST_F(StateSaverTest, WithoutTheLockNothingIsWritten) {
  saver_.SaveAll();

  EXPECT_FALSE(saver_.unsaved());
  EXPECT_EQ(SavedDevices(), "");
  EXPECT_EQ(saver_.MaySave().error().reason, Reason::kStateLocked);
}

TEST_F(StateSaverTest, OfVerdictsAFallAloneIsSavedAtOnce) {
  saver_.TryToBecomeWriter();
  saver_.SaveAll();
  node_.Observe(kSource, {Fatal("1", "on fire")});

  saver_.SaveFalls();

  EXPECT_EQ(UnsavedIds(), std::vector<std::string>{});
  ASSERT_TRUE(node_.Cordon("0", "by hand"));
  saver_.SaveFalls();
  EXPECT_TRUE(saver_.unsaved());
}

TEST_F(StateSaverTest, AnOrderIsOnDiskOnceFactsAreSaved) {
  saver_.TryToBecomeWriter();
  ASSERT_TRUE(node_.Cordon("0", "by hand"));

  EXPECT_TRUE(saver_.SaveFacts());

  EXPECT_EQ(Read().facts->cordons, node_.cordons());
}

TEST_F(StateSaverTest, AWriteThatFailsIsToldOnceAndItsMendingToo) {
  saver_.TryToBecomeWriter();
  ASSERT_TRUE(os::MakeDirectories(dir_ + "/state.jsonl/in-the-way"));

  saver_.SaveAll();
  saver_.SaveAll();

  EXPECT_TRUE(saver_.unsaved());
  EXPECT_NE(saver_.fault(), std::nullopt);
  const std::string told = log_.Take();
  EXPECT_EQ(told.find("cannot save the state"), told.rfind("cannot save the state")) << told;
  EXPECT_NE(told.find("cannot save the state"), std::string::npos);

  ASSERT_TRUE(os::RemoveTree(dir_ + "/state.jsonl"));
  saver_.SaveAll();

  EXPECT_EQ(saver_.fault(), std::nullopt);
  EXPECT_NE(log_.text().find("the state is saved again"), std::string::npos) << log_.text();
}

TEST_F(StateSaverTest, AnotherWriterIsNoFault) {
  StateSaver former(other_, metrics_, dir_);
  ASSERT_TRUE(former.TryToBecomeWriter());
  EXPECT_FALSE(saver_.TryToBecomeWriter());
  EXPECT_TRUE(saver_.another_writes());
  EXPECT_EQ(saver_.fault(), std::nullopt);
}

TEST_F(StateSaverTest, WhatAnEarlierProcessSavedIsKnownAgain) {
  saver_.TryToBecomeWriter();
  saver_.SaveAll();

  StateSaver next(other_, metrics_, dir_);
  next.Restore("boot");

  EXPECT_EQ(other_.inventory()->devices, node_.inventory()->devices);
}

}  // namespace
}  // namespace tessera::agent
