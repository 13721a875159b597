// SPDX-License-Identifier: Apache-2.0
#include "backend/dummy/faults.h"

#include <gtest/gtest.h>

namespace tessera::dummy {
namespace {

Steady At(int milliseconds) {
  return Steady(Duration(milliseconds));
}

Faults With(const std::string& id, const Fault& fault) {
  Faults faults;
  faults.devices[id] = fault;
  return faults;
}

std::string ParseError(std::string_view text) {
  const Result<Faults> faults = ParseFaults(text);
  return faults ? "no error" : faults.error().message;
}

std::string VerbError(std::string_view verb, std::string_view id, std::string_view detail) {
  Faults faults;
  const Status status = ApplyVerb(faults, verb, id, detail);
  EXPECT_EQ(faults, Faults{});
  return status ? "no error" : status.error().message;
}

TEST(FaultsTest, EveryKeyIsRead) {
  const Result<Faults> faults = ParseFaults(R"({
    "version": 1, "lost": true,
    "devices": {"7": {"fail": "a", "flapMs": 1500, "broken": "b", "slowMs": 3000,
                      "resetFails": "c", "hidden": true}}})");

  ASSERT_TRUE(faults) << faults.error().message;
  Faults expected = With("7", {.fail = "a",
                               .broken = "b",
                               .reset_fails = "c",
                               .slow = Duration(3000),
                               .flap = Duration(1500),
                               .hidden = true});
  expected.lost = true;
  EXPECT_EQ(*faults, expected);
}

TEST(FaultsTest, WhatIsWrittenIsReadBack) {
  Faults faults = With("7", {.fail = "a",
                             .broken = "b",
                             .reset_fails = "c",
                             .slow = Duration(3000),
                             .flap = Duration(1500),
                             .hidden = true});
  faults.lost = true;

  const Result<Faults> read = ParseFaults(WriteFaults(faults));

  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, faults);
}

TEST(FaultsTest, ADocumentWithoutFaultsIsReadAsNone) {
  EXPECT_EQ(ParseFaults(R"({"version":1})").value(), Faults{});
  EXPECT_EQ(ParseFaults(WriteFaults({})).value(), Faults{});
}

TEST(FaultsTest, ADeviceWithoutFaultsIsNotNoted) {
  EXPECT_EQ(ParseFaults(R"({"version":1,"devices":{"7":{"hidden":false}}})").value(), Faults{});
}

TEST(FaultsTest, WrongFilesAreNamed) {
  EXPECT_EQ(ParseError("[]"), "must be an object");
  EXPECT_EQ(ParseError("{}"), "\"version\" must be 1");
  EXPECT_EQ(ParseError(R"({"version":2})"), "\"version\" must be 1");
  EXPECT_EQ(ParseError(R"({"version":1,"gone":true})"), "unknown key \"gone\"");
  EXPECT_EQ(ParseError(R"({"version":1,"lost":1})"), "\"lost\" must be true or false");
  EXPECT_EQ(ParseError(R"({"version":1,"devices":[]})"), "\"devices\" must be an object");
  EXPECT_EQ(ParseError(R"({"version":1,"devices":{"7":1}})"), "device \"7\": must be an object");
  EXPECT_EQ(ParseError(R"({"version":1,"devices":{"7":{"fial":"x"}}})"),
            "device \"7\": unknown key \"fial\"");
  EXPECT_EQ(ParseError(R"({"version":1,"devices":{"7":{"fail":true}}})"),
            "device \"7\": \"fail\" must be text");
  EXPECT_EQ(ParseError(R"({"version":1,"devices":{"7":{"hidden":"yes"}}})"),
            "device \"7\": \"hidden\" must be true or false");
  EXPECT_EQ(ParseError(R"({"version":1,"devices":{"7":{"slowMs":0}}})"),
            "device \"7\": \"slowMs\" must be milliseconds, 1 to 86400000");
}

TEST(FaultsTest, VerbsSetTheirFault) {
  const struct {
    std::string_view verb, detail;
    Fault fault;
  } cases[] = {
      {"fail", "", {.fail = "injected failure"}},
      {"fail", "smoke", {.fail = "smoke"}},
      {"flap", "", {.flap = Duration(2000)}},
      {"flap", "500ms", {.flap = Duration(500)}},
      {"slow", "", {.slow = Duration(10'000)}},
      {"slow", "1m", {.slow = Duration(60'000)}},
      {"break", "", {.broken = "injected health check error"}},
      {"break", "no answer", {.broken = "no answer"}},
      {"reset-fails", "", {.reset_fails = "injected reset failure"}},
      {"reset-fails", "stuck", {.reset_fails = "stuck"}},
      {"hide", "", {.hidden = true}},
  };
  for (const auto& c : cases) {
    Faults faults;

    EXPECT_TRUE(ApplyVerb(faults, c.verb, "7", c.detail)) << c.verb;

    EXPECT_EQ(faults, With("7", c.fault)) << c.verb;
  }
}

TEST(FaultsTest, FaultsAddUp) {
  Faults faults = With("7", {.fail = "smoke"});

  EXPECT_TRUE(ApplyVerb(faults, "slow", "7", "1s"));

  EXPECT_EQ(faults, With("7", {.fail = "smoke", .slow = Duration(1000)}));
}

TEST(FaultsTest, HealEndsAllButBeingUnplugged) {
  Faults faults = With("7", {.fail = "smoke", .slow = Duration(1), .hidden = true});

  EXPECT_TRUE(ApplyVerb(faults, "heal", "7", ""));
  EXPECT_EQ(faults, With("7", {.hidden = true}));

  EXPECT_TRUE(ApplyVerb(faults, "show", "7", ""));
  EXPECT_EQ(faults, Faults{});
}

TEST(FaultsTest, RestoreEndsEverything) {
  Faults faults = With("7", {.fail = "smoke", .hidden = true});
  EXPECT_TRUE(ApplyVerb(faults, "lose-all", "", ""));
  EXPECT_TRUE(faults.lost);

  EXPECT_TRUE(ApplyVerb(faults, "restore", "", ""));

  EXPECT_EQ(faults, Faults{});
}

TEST(FaultsTest, WrongVerbsAreExplained) {
  EXPECT_EQ(
      VerbError("brek", "7", ""),
      "no fault is called \"brek\"; there are fail, flap, slow, break, reset-fails, heal, hide, "
      "show, lose-all, restore");
  EXPECT_EQ(VerbError("fail", "", ""), "\"fail\" needs the id of a device");
  EXPECT_EQ(VerbError("lose-all", "7", ""), "\"lose-all\" concerns all devices; name none");
  EXPECT_EQ(VerbError("slow", "7", "long"),
            "slow: \"long\" is not a duration between 1ms and 24h, such as \"2s\"");
  EXPECT_EQ(VerbError("flap", "7", "0s"),
            "flap: \"0s\" is not a duration between 1ms and 24h, such as \"2s\"");
}

TEST(FaultsTest, FlappingDependsOnTheClockAlone) {
  EXPECT_FALSE(InFailingPhase(Duration(100), At(0)));
  EXPECT_FALSE(InFailingPhase(Duration(100), At(99)));
  EXPECT_TRUE(InFailingPhase(Duration(100), At(100)));
  EXPECT_TRUE(InFailingPhase(Duration(100), At(199)));
  EXPECT_FALSE(InFailingPhase(Duration(100), At(200)));
  EXPECT_EQ(NextPhase(Duration(100), At(0)), At(100));
  EXPECT_EQ(NextPhase(Duration(100), At(199)), At(200));
}

}  // namespace
}  // namespace tessera::dummy
