// SPDX-License-Identifier: Apache-2.0
#include "backend/nvidia/mps/status.h"

#include <gtest/gtest.h>

namespace tessera::nvidia {
namespace {

const MpsStatus kReady{.state = MpsState::kReady,
                       .pid = 77,
                       .boot = "b",
                       .answered = Steady(Duration(10'000)),
                       .next = Steady(Duration(20'000)),
                       .threads = 25,
                       .served = {{"GPU-a", 2048}},
                       .refused = {{"GPU-b", "it is too old"}}};

// The evidence about the device ten seconds after the daemon's answer: "KIND REASON DETAIL".
std::string StatusTrouble(const Result<MpsStatus>& status, const std::string& device = "GPU-a",
                          Steady now = Steady(Duration(20'000))) {
  const auto evidence = MpsTrouble(status, "b", now, device);
  if (!evidence) return "good";
  EXPECT_EQ(evidence->source, EvidenceSource::kCheck);
  const char* kind = evidence->kind == EvidenceKind::kFatal     ? "fatal "
                     : evidence->kind == EvidenceKind::kUnknown ? "unknown "
                                                                : "bad ";
  return kind + std::string(ReasonName(evidence->reason)) + " " + evidence->detail;
}

TEST(MpsStatusTest, WhatIsWrittenIsReadAgain) {
  const auto again = ParseMpsStatus(MpsStatusText(kReady));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, kReady);
}

TEST(MpsStatusTest, AnythingElseIsCorrupt) {
  for (const char* text : {"", "[]", "{", "{}", R"({"state": "fine"})", R"({"state": 1})"}) {
    const auto status = ParseMpsStatus(text);
    ASSERT_FALSE(status) << text;
    EXPECT_EQ(status.error().reason, Reason::kStateCorrupt) << text;
  }
}

TEST(MpsStatusTest, ADaemonThatAnswersIsWellForTheGpusThatItServes) {
  EXPECT_EQ(StatusTrouble(kReady), "good");
  EXPECT_EQ(StatusTrouble(kReady, "GPU-b"), "fatal mps-unfit it is too old");
  EXPECT_EQ(StatusTrouble(kReady, "GPU-c"),
            "fatal mps-down the running MPS control daemon does not serve it");
}

TEST(MpsStatusTest, OneThatIsDownOrSilentIsNotWell) {
  MpsStatus status = kReady;
  status.state = MpsState::kDown;
  status.detail = "it ended by itself";
  EXPECT_EQ(StatusTrouble(status),
            "fatal mps-down the MPS control daemon is down: it ended by itself");
  status.state = MpsState::kSilent;
  EXPECT_EQ(StatusTrouble(status), "bad mps-down it ended by itself");
}

TEST(MpsStatusTest, NoWordIsNoGoodWord) {
  EXPECT_EQ(StatusTrouble(kReady, "GPU-a", Steady(Duration(20'001))),
            "unknown mps-down 'tessera mps' has not updated its status for 10.0 s");
  EXPECT_EQ(StatusTrouble(Fail(Reason::kNotFound, "cannot open status.json")),
            "fatal mps-down MPS was not started: 'tessera mps' has written no status");
  EXPECT_EQ(StatusTrouble(Fail(Reason::kStateCorrupt, "it is not a JSON object")),
            "fatal mps-down the status from 'tessera mps' cannot be read: it is not a JSON object");
}

TEST(MpsStatusTest, AWordOfAnotherBootIsNone) {
  MpsStatus status = kReady;
  status.boot = "a";
  EXPECT_EQ(StatusTrouble(status),
            "fatal mps-down MPS was not started: 'tessera mps' has written no status");
}

}  // namespace
}  // namespace tessera::nvidia
