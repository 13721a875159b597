// SPDX-License-Identifier: Apache-2.0
#include "compat/nvidia/scalars.h"

#include <gtest/gtest.h>

namespace tessera::config::nvidia {
namespace {

Node Plain(std::string text) {
  Node node;
  node.kind = Node::Kind::kScalar;
  node.scalar = std::move(text);
  return node;
}

TEST(NvidiaScalars, ManyWordsAreTruthValues) {
  for (const char* text :
       {"y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"}) {
    EXPECT_EQ(Truth(text), true) << text;
  }
  for (const char* text :
       {"n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"}) {
    EXPECT_EQ(Truth(text), false) << text;
  }
  for (const char* text : {"", "1", "0", "t", "tRue", "yeS", "oFF"}) {
    EXPECT_EQ(Truth(text), std::nullopt) << text;
  }
}

TEST(NvidiaScalars, WholeNumbersAreOfFourBases) {
  EXPECT_EQ(WholeNumber("10"), 10);
  EXPECT_EQ(WholeNumber("+10"), 10);
  EXPECT_EQ(WholeNumber("-10"), -10);
  EXPECT_EQ(WholeNumber("1_000"), 1000);
  EXPECT_EQ(WholeNumber("0x1F"), 31);
  EXPECT_EQ(WholeNumber("0b101"), 5);
  EXPECT_EQ(WholeNumber("012"), 10);
  EXPECT_EQ(WholeNumber("0o12"), 10);
  EXPECT_EQ(WholeNumber("0"), 0);
  for (const char* text :
       {"", "-", "2.0", "1e3", "e5", "08", "0x", "ten", "--1", "_1", "99999999999999999999"}) {
    EXPECT_EQ(WholeNumber(text), std::nullopt) << text;
  }
}

TEST(NvidiaScalars, QuotesMakeTextOfEverything) {
  EXPECT_EQ(TypeOf(Plain("no")), ScalarType::kBool);
  EXPECT_EQ(TypeOf(Plain("12")), ScalarType::kNumber);
  EXPECT_EQ(TypeOf(Plain("-1.5e3")), ScalarType::kNumber);
  EXPECT_EQ(TypeOf(Plain(".inf")), ScalarType::kNumber);
  EXPECT_EQ(TypeOf(Plain("none")), ScalarType::kText);
  EXPECT_EQ(TypeOf(Plain("0:1")), ScalarType::kText);
  Node quoted = Plain("12");
  quoted.quoted = true;
  EXPECT_EQ(TypeOf(quoted), ScalarType::kText);
}

TEST(NvidiaScalars, ANameGetsItsPrefixUnlessItIsThere) {
  EXPECT_EQ(ReadResourceName("gpu"), "nvidia.com/gpu");
  EXPECT_EQ(ReadResourceName("nvidia.com/gpu"), "nvidia.com/gpu");
  EXPECT_EQ(ReadResourceName("mig-1g.10gb.me.all"), "nvidia.com/mig-1g.10gb.me.all");
  EXPECT_EQ(ReadResourceName(std::string(52, 'a')), "nvidia.com/" + std::string(52, 'a'));
}

TEST(NvidiaScalars, ANameThatKubernetesRefusesIsNone) {
  for (const std::string& text :
       {std::string(), std::string("nvidia.com/"), std::string("GPU"), std::string("a_b"),
        std::string("-a"), std::string("a-"), std::string("a..b"), std::string("a."),
        std::string("example.com/gpu"), std::string("nvidia.com/a/b"), std::string("mig-1g+me")}) {
    const auto name = ReadResourceName(text);
    ASSERT_FALSE(name) << text;
    EXPECT_EQ(name.error().message,
              "must be lower-case letters, digits, '-' and '.' behind 'nvidia.com/', with a letter "
              "or digit at both ends, not '" +
                  text + "'");
  }
  const std::string longest(53, 'a');
  EXPECT_EQ(ReadResourceName(longest).error().message,
            "must have at most 63 characters, 'nvidia.com/' included, not '" + longest + "'");
}

constexpr char kUuid[] = "8a1f1d3c-5f0e-4a1b-9c55-0d2f6b1e7a42";

TEST(NvidiaScalars, ADeviceIsAnIndexOrAUuid) {
  const std::string uuid = kUuid;
  for (const std::string& text :
       {std::string("0"), std::string("17"), std::string("0:1"), "GPU-" + uuid, "MIG-" + uuid,
        "GPU-{" + uuid + "}", "GPU-urn:uuid:" + uuid,
        std::string("GPU-8a1f1d3c5f0e4a1b9c550d2f6b1e7a42"), "MIG-GPU-" + uuid + "/1/2"}) {
    EXPECT_TRUE(IsDeviceReference(text)) << text;
  }
}

TEST(NvidiaScalars, AnythingElseIsNoDevice) {
  const std::string uuid = kUuid;
  for (const std::string& text :
       {std::string(), std::string("-1"), std::string("2.0"), std::string("0:"), std::string(":1"),
        std::string("0:1:2"), std::string("all"), uuid, std::string("GPU-"), "GPU-" + uuid + "0",
        "GPU-x" + uuid.substr(1), "MIG-GPU-" + uuid, "MIG-GPU-" + uuid + "/1",
        "MIG-GPU-" + uuid + "/1/x", "GPU-" + uuid + "/1/2"}) {
    EXPECT_FALSE(IsDeviceReference(text)) << text;
  }
}

TEST(NvidiaScalars, ATimeIsAsGoWritesIt) {
  for (const char* text :
       {"0", "0s", "5s", "1h30m", "1.5h", ".5s", "-1s", "100ns", "5\u00b5s", "infinite"}) {
    EXPECT_TRUE(SleepInterval(text)) << text;
  }
  for (const char* text : {"", "5", "s", "5d", "1..5s", "-", "forever", "5 s"}) {
    EXPECT_FALSE(SleepInterval(text)) << text;
  }
  EXPECT_EQ(SleepInterval("1h30m"), Duration(5'400'000));
  EXPECT_EQ(SleepInterval("1.5s20ms"), Duration(1'520));
  EXPECT_EQ(SleepInterval("-1s"), Duration(-1'000));
  EXPECT_EQ(SleepInterval("999us"), Duration(0));
  EXPECT_EQ(SleepInterval("infinite"), Duration::max());
}

}  // namespace
}  // namespace tessera::config::nvidia
