// SPDX-License-Identifier: Apache-2.0
#include "node/state.h"

#include <gtest/gtest.h>

#include "agent/state_store.h"
#include "os/files.h"

namespace tessera::agent {
namespace {

const DeviceKey kKey = {"dummy.com/npu", "7"};

Facts ExampleFacts() {
  Device device;
  device.key = kKey;
  device.model = "dummy NPU";
  device.address = "0000:47:00.0";
  device.visible_as = "7";
  device.order = 64;
  device.memory = 8192;
  device.parent = "5";
  device.numa_nodes = {0, 1};
  device.nodes = {{"/dev/npu7", "/dev/npu7", "rw"}};
  device.mounts = {{"/opt/npu", "/opt/npu", true}};
  device.defect = Error{Reason::kUnreadable, "no permission"};
  device.present = false;
  Facts facts;
  facts.devices.push_back(device);
  facts.plans["dummy.com/npu"] = {{Division::kReplicas, 4, Separator::kDash},
                                  {{"7", {"7"}}, {"8", {"8::4", "8::10"}}}};
  facts.cordons[kKey] = {"by hand", Wall(Duration(1'700'000'000'000))};
  return facts;
}

Verdict Sick() {
  Verdict verdict;
  verdict.state = HealthState::kUnhealthy;
  verdict.reason = Reason::kFatalEvent;
  verdict.detail = "on fire";
  verdict.since = Steady(Duration(123'456));
  verdict.passes = 1;
  verdict.failures = {Steady(Duration(100)), Steady(Duration(200))};
  verdict.falls = {Steady(Duration(300))};
  verdict.held_until = Steady(Duration(400));
  verdict.remedy = Remedy::kReset;
  return verdict;
}

Verdict Well() {
  Verdict verdict;
  verdict.state = HealthState::kHealthy;
  return verdict;
}

std::string Text(const Facts& facts) {
  return WriteFacts(facts.devices, facts.cordons, facts.plans);
}

Status Save(StateStore& store, const Facts& facts) {
  return store.SaveFacts(facts.devices, facts.cordons, facts.plans);
}

class StateTest : public testing::Test {
 protected:
  ~StateTest() override { (void)os::RemoveTree(dir_); }
  std::vector<std::string> Files() {
    return os::ListDirectory(dir_).value_or(std::vector<std::string>{});
  }
  std::string dir_ = *os::MakeTemporaryDirectory(testing::TempDir() + "state");
};

TEST_F(StateTest, APlanByMpsIsReadAsItWas) {
  Facts facts;
  facts.plans["nvidia.com/gpu"] = {{Division::kMps, 4}};
  const auto again = ParseFacts(WriteFacts(facts.devices, facts.cordons, facts.plans));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->plans, facts.plans);
}

TEST_F(StateTest, FactsAreReadBackWhole) {
  auto read = ParseFacts(Text(ExampleFacts()));

  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, ExampleFacts());
}

TEST_F(StateTest, APolicyWithoutKeptSharesIsReadAsItWasAlwaysWritten) {
  Facts facts;
  facts.plans["dummy.com/npu"] = {{Division::kReplicas, 4}};
  const std::string text =
      "{\"version\":1}\n"
      "{\"policy\":{\"source\":\"dummy.com/npu\",\"division\":\"replicas\",\"replicas\":4,"
      "\"separator\":\"colons\"}}\n";

  EXPECT_EQ(Text(facts), text);
  EXPECT_EQ(ParseFacts(text), facts);
}

TEST_F(StateTest, KeptSharesThatAreNoneAreLeftOut) {
  Facts facts;
  facts.plans["dummy.com/npu"] = {{}, {{"7", {"7::1"}}}};

  EXPECT_EQ(ParseFacts("{\"version\":1}\n"
                       "{\"policy\":{\"source\":\"dummy.com/npu\",\"division\":\"whole\","
                       "\"kept\":[7,\"\",null,\"7::1\",\"7::1\"]}}\n"),
            facts);
  EXPECT_EQ(ParseFacts("{\"version\":1}\n"
                       "{\"policy\":{\"source\":\"dummy.com/npu\",\"division\":\"whole\","
                       "\"kept\":\"7::1\"}}\n"),
            (Facts{.devices = {}, .cordons = {}, .plans = {{"dummy.com/npu", {}}}}));
}

TEST_F(StateTest, TheLastVerdictOfADeviceCounts) {
  auto read = ParseVerdicts(
      VerdictsHeader("boot") + VerdictLine(kKey, Well()) + VerdictLine(kKey, Sick()), "boot");

  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, (Verdicts{{kKey, Sick()}}));
}

TEST_F(StateTest, VerdictsOfAnotherBootAreNone) {
  EXPECT_EQ(ParseVerdicts(VerdictsHeader("boot") + VerdictLine(kKey, Well()), "another"),
            Verdicts{});
}

TEST_F(StateTest, AFileOfANewerAgentIsSaidToBeNewer) {
  const Error newer{Reason::kStateNewer, "it has version 2, this agent knows 1"};
  EXPECT_EQ(ParseFacts("{\"version\":2}\n").error(), newer);
  EXPECT_EQ(ParseVerdicts("{\"version\":2}\n", "boot").error(), newer);
}

TEST_F(StateTest, ABrokenFileIsCorrupt) {
  EXPECT_EQ(ParseFacts("").error(), (Error{Reason::kStateCorrupt, "it is empty"}));
  EXPECT_EQ(ParseFacts("{\n").error().reason, Reason::kStateCorrupt);
  EXPECT_EQ(ParseFacts("[]\n").error(),
            (Error{Reason::kStateCorrupt, "line 1 is not a JSON object"}));
  EXPECT_EQ(ParseFacts("{}\n").error(), (Error{Reason::kStateCorrupt, "it has no version"}));
}

TEST_F(StateTest, OfATornLogOnlySickDevicesAreBelieved) {
  const DeviceKey well = {"dummy.com/npu", "8"};
  const std::string log = VerdictsHeader("boot") + VerdictLine(well, Well()) +
                          VerdictLine(kKey, Sick()) + VerdictLine(well, Sick());
  std::optional<Error> torn;
  EXPECT_EQ(ParseVerdicts(log.substr(0, log.size() - 1), "boot", &torn),
            (Verdicts{{kKey, Sick()}}));
  EXPECT_EQ(torn, (Error{Reason::kStateCorrupt, "line 4 has no end"}));
}

TEST_F(StateTest, OfATornLogOfAnotherBootNothingIsSaid) {
  std::optional<Error> torn;
  EXPECT_EQ(ParseVerdicts(VerdictsHeader("boot") + "{", "another", &torn), Verdicts{});
  EXPECT_EQ(torn, std::nullopt);
}

TEST_F(StateTest, AVerdictInAnUnknownStateIsVerifiedAnew) {
  auto read = ParseVerdicts(VerdictsHeader("boot") + VerdictLine(kKey, Well()) +
                                "{\"source\":\"dummy.com/npu\",\"id\":\"7\","
                                "\"state\":\"splendid\"}\n",
                            "boot");

  ASSERT_TRUE(read);
  EXPECT_TRUE(read->empty());
}

TEST_F(StateTest, OnlyOneStoreWritesAtATime) {
  StateStore first(dir_);
  StateStore second(dir_);
  ASSERT_TRUE(first.TryToBecomeWriter());

  EXPECT_FALSE(second.TryToBecomeWriter());
  EXPECT_FALSE(second.writer());
}

TEST_F(StateTest, TheSecondTakesOverWhenTheFirstEnds) {
  auto first = std::make_unique<StateStore>(dir_);
  StateStore second(dir_);
  ASSERT_TRUE(first->TryToBecomeWriter());
  ASSERT_TRUE(Save(*first, ExampleFacts()));
  ASSERT_TRUE(first->RewriteVerdicts(VerdictsHeader("boot")));
  ASSERT_TRUE(first->AppendVerdicts(VerdictLine(kKey, Sick())));
  ASSERT_FALSE(second.TryToBecomeWriter());

  first.reset();

  EXPECT_TRUE(second.TryToBecomeWriter());
  EXPECT_EQ(second.LoadFacts(), ExampleFacts());
  EXPECT_EQ(second.LoadVerdicts("boot"), (Verdicts{{kKey, Sick()}}));
}

TEST_F(StateTest, TheLogIsBegunAnewBeforeTheFirstLineAndWhenItHasGrown) {
  StateStore store(dir_);
  ASSERT_TRUE(store.TryToBecomeWriter());
  EXPECT_FALSE(store.log_open());
  ASSERT_TRUE(store.RewriteVerdicts(VerdictsHeader("boot")));
  EXPECT_TRUE(store.log_open());
  EXPECT_FALSE(store.LogHasGrown());

  std::string lines;
  while (lines.size() < size_t{300} * 1024) lines += VerdictLine(kKey, Sick());
  ASSERT_TRUE(store.AppendVerdicts(lines));

  EXPECT_TRUE(store.LogHasGrown());
}

TEST_F(StateTest, ALogThatSomebodyRemovedIsNotAppendedTo) {
  StateStore store(dir_);
  ASSERT_TRUE(store.TryToBecomeWriter());
  ASSERT_TRUE(store.RewriteVerdicts(VerdictsHeader("boot")));
  ASSERT_TRUE(os::RemoveFile(dir_ + "/verdicts.jsonl"));

  EXPECT_FALSE(store.log_open());
}

TEST_F(StateTest, WithoutAFileThereAreNoFacts) {
  StateStore store(dir_);
  EXPECT_EQ(store.LoadFacts(), std::nullopt);
}

TEST_F(StateTest, ANewerFileIsSetAsideAndKept) {
  ASSERT_TRUE(os::WriteFileAtomically(dir_ + "/state.jsonl", "{\"version\":99}\n"));
  StateStore store(dir_);
  store.TryToBecomeWriter();

  EXPECT_EQ(store.LoadFacts(), std::nullopt);
  EXPECT_EQ(*os::ReadFile(dir_ + "/state.jsonl.newer"), "{\"version\":99}\n");
}

TEST_F(StateTest, WhatAKilledWriterLeftIsRemoved) {
  ASSERT_TRUE(os::WriteFileAtomically(dir_ + "/verdicts.jsonl.tmp4711", "half a l"));
  StateStore store(dir_);
  store.TryToBecomeWriter();

  EXPECT_EQ(Files(), std::vector<std::string>{"lock"});
}

}  // namespace
}  // namespace tessera::agent
