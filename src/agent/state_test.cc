// SPDX-License-Identifier: Apache-2.0
#include "agent/state.h"

#include <gtest/gtest.h>

#include "agent/state_store.h"
#include "os/files.h"

namespace tessera::agent {
namespace {

SavedState Example() {
  Device device;
  device.key = {"dummy.com/npu", "7"};
  device.model = "dummy NPU";
  device.visible_as = "7";
  device.numa_nodes = {0, 1};
  device.nodes = {{"/dev/npu7", "/dev/npu7", "rw"}};
  device.mounts = {{"/opt/npu", "/opt/npu", true}};
  device.defect = Error{Reason::kUnreadable, "no permission"};
  device.present = false;
  Verdict verdict;
  verdict.state = HealthState::kUnhealthy;
  verdict.reason = Reason::kFatalEvent;
  verdict.detail = "on fire";
  verdict.since = Steady(Duration(123'456));
  verdict.passes = 1;
  verdict.failures = {Steady(Duration(100)), Steady(Duration(200))};
  verdict.falls = {Steady(Duration(300))};
  verdict.held_until = Steady(Duration(400));
  SavedState state;
  state.boot_id = "boot-1";
  state.devices = {device};
  state.verdicts[device.key] = verdict;
  state.policies["dummy.com/npu"] = {Division::kReplicas, 4};
  state.cordons[device.key] = {"by hand", Wall(Duration(1'700'000'000'000))};
  return state;
}

class StateTest : public testing::Test {
 protected:
  ~StateTest() override { (void)os::RemoveTree(dir_); }
  std::string dir_ = *os::MakeTemporaryDirectory(testing::TempDir() + "state");
};

TEST_F(StateTest, WhatIsWrittenIsReadBackWhole) {
  auto read = ParseState(WriteState(Example()));

  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, Example());
}

TEST_F(StateTest, AFileOfANewerAgentIsSaidToBeNewer) {
  EXPECT_EQ(ParseState(R"({"version":2})").error(),
            (Error{Reason::kStateNewer, "it has version 2, this agent knows 1"}));
}

TEST_F(StateTest, ABrokenFileIsCorrupt) {
  EXPECT_EQ(ParseState("{").error().reason, Reason::kStateCorrupt);
  EXPECT_EQ(ParseState("[]").error(), (Error{Reason::kStateCorrupt, "it is not a JSON object"}));
  EXPECT_EQ(ParseState("{}").error(), (Error{Reason::kStateCorrupt, "it has no version"}));
}

TEST_F(StateTest, AVerdictInAnUnknownStateIsVerifiedAnew) {
  auto read =
      ParseState(R"({"version":1,"verdicts":[{"source":"a.b/c","id":"0","state":"splendid"}]})");

  ASSERT_TRUE(read);
  EXPECT_TRUE(read->verdicts.empty());
}

TEST_F(StateTest, OnlyOneStoreWritesAtATime) {
  StateStore first(dir_);
  StateStore second(dir_);
  ASSERT_TRUE(first.TryToBecomeWriter());

  EXPECT_FALSE(second.TryToBecomeWriter());
  ASSERT_TRUE(second.Save(Example()));

  EXPECT_FALSE(os::Exists(dir_ + "/state.json"));
}

TEST_F(StateTest, TheSecondTakesOverWhenTheFirstEnds) {
  auto first = std::make_unique<StateStore>(dir_);
  StateStore second(dir_);
  ASSERT_TRUE(first->TryToBecomeWriter());
  ASSERT_TRUE(first->Save(Example()));
  ASSERT_FALSE(second.TryToBecomeWriter());

  first.reset();

  EXPECT_TRUE(second.TryToBecomeWriter());
  EXPECT_EQ(second.Load(), Example());
}

TEST_F(StateTest, ANewerFileIsSetAsideAndKept) {
  ASSERT_TRUE(os::WriteFileAtomically(dir_ + "/state.json", R"({"version":99})"));
  StateStore store(dir_);
  store.TryToBecomeWriter();

  EXPECT_EQ(store.Load(), SavedState{});
  EXPECT_EQ(*os::ReadFile(dir_ + "/state.json.newer"), R"({"version":99})");
}

}  // namespace
}  // namespace tessera::agent
