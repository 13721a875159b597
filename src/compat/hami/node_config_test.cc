// SPDX-License-Identifier: Apache-2.0
#include "compat/hami/node_config.h"

#include "compat/hami/told_test.h"
#include "os/files.h"

namespace tessera::config::hami {
namespace {

Settings ReadNode(const std::string& json) {
  const auto node = ReadNodeConfig("config.json", json, "worker-1");
  EXPECT_TRUE(node) << (node ? "" : node.error().message);
  Settings settings;
  const Document none;
  Findings findings(none);
  if (node) Apply(*node, settings, findings);
  return settings;
}

std::string ToldOf(const std::string& json) {
  const auto node = ReadNodeConfig("config.json", json, "worker-1");
  return node ? "good" : node.error().message;
}

TEST(HamiNodeConfig, EveryKeyIsReadInAnySpelling) {
  const Settings settings = ReadNode(R"({"NodeConfig":[{"Name":"worker-1","OperatingMode":"mps",
    "deviceSplitCount":5,"DEVICEMEMORYSCALING":1.8,"devicecorescaling":1.5,
    "preconfigureddevicememory":2048,"libcudaloglevel":"3","enablenumatopology":true,
    "migstrategy":"none","filterDevices":{"UUID":["GPU-1","GPU-2"],"index":[0,3]},
    "enablegetpreferredallocation":true,"somethingelse":1}]})");
  Settings wanted;
  wanted.operating_mode = "mps";
  wanted.split_count = 5;
  wanted.memory_scaling = 1.8;
  wanted.core_scaling = 1.5;
  wanted.preconfigured_memory = 2048;
  wanted.log_level = "3";
  wanted.numa_topology = true;
  wanted.filtered_uuids = {"GPU-1", "GPU-2"};
  wanted.filtered_indices = {0, 3};
  EXPECT_EQ(settings, wanted);
}

TEST(HamiNodeConfig, EntriesForTheNodeAreMergedInTheirOrder) {
  const Settings settings = ReadNode(R"({"nodeconfig":[
    {"name":"worker-1","devicesplitcount":5,"devicememoryscaling":2,"filterdevices":{"uuid":["a"]}},
    {"name":"worker-10","devicesplitcount":50},
    {"name":"worker-1","devicesplitcount":6,"filterdevices":{"uuid":[],"index":[1]}}]})");
  EXPECT_EQ(settings.split_count, 6);
  EXPECT_EQ(settings.memory_scaling, 2);
  EXPECT_EQ(settings.filtered_uuids, std::vector<std::string>{"a"});
  EXPECT_EQ(settings.filtered_indices, std::vector<int64_t>{1});
}

TEST(HamiNodeConfig, WhatIsZeroEmptyFalseOrNullSaysNothing) {
  EXPECT_EQ(ReadNode(R"({"nodeconfig":[{"name":"worker-1","operatingmode":"","devicesplitcount":0,
    "devicememoryscaling":0.0,"libcudaloglevel":"","enablenumatopology":false,
    "devicecorescaling":null,"filterdevices":null}]})"),
            Settings());
  EXPECT_EQ(ReadNode(R"({})"), Settings());
  EXPECT_EQ(ReadNode(R"({"nodeconfig":null})"), Settings());
}

TEST(HamiNodeConfig, WhatItSaysOfOtherNodesIsNothing) {
  EXPECT_EQ(ReadNode(R"({"nodeconfig":[{"name":"worker-2","devicesplitcount":"many"},{}]})"),
            Settings());
}

TEST(HamiNodeConfig, WhatCannotBeUsedIsTold) {
  const auto told_of = [](const std::string& entry) {
    return ToldOf(R"({"nodeconfig":[{"name":"worker-1",)" + entry + "}]}");
  };
  EXPECT_EQ(told_of(R"("libcudaloglevel":1)"),
            "nodeconfig[0].libcudaloglevel takes text in quotes, not '1'");
  EXPECT_EQ(told_of(R"("devicesplitcount":"5")"),
            "nodeconfig[0].devicesplitcount takes a number, not '\"5\"'");
  EXPECT_EQ(told_of(R"("devicesplitcount":1.5)"),
            "nodeconfig[0].devicesplitcount takes a whole number from 1 to 2147483647, not '1.5'");
  EXPECT_EQ(told_of(R"("DeviceMemoryScaling":-1)"),
            "nodeconfig[0].DeviceMemoryScaling takes a number above 0 and up to 100, not '-1'");
  EXPECT_EQ(told_of(R"("enablenumatopology":1)"),
            "nodeconfig[0].enablenumatopology takes true or false, not '1'");
  EXPECT_EQ(told_of(R"("filterdevices":[])"),
            "nodeconfig[0].filterdevices takes an object, not '[]'");
  EXPECT_EQ(told_of(R"("filterdevices":{"uuid":"GPU-1"})"),
            "nodeconfig[0].filterdevices.uuid takes a list of texts, not '\"GPU-1\"'");
  EXPECT_EQ(told_of(R"("filterdevices":{"index":["0"]})"),
            "nodeconfig[0].filterdevices.index takes a list of whole numbers, not '[\"0\"]'");
  EXPECT_EQ(ToldOf("[]"), "the file is not a JSON object");
  EXPECT_EQ(ToldOf(R"({"nodeconfig":{}})"), "nodeconfig takes a list");
  EXPECT_EQ(ToldOf(R"({"nodeconfig":[1]})"), "nodeconfig[0] takes an object, not '1'");
}

class NodeConfigFileTest : public testing::Test {
 protected:
  void TearDown() override { EXPECT_TRUE(os::RemoveTree(dir_)); }
  void Write(const std::string& text) { ASSERT_TRUE(os::WriteFileAtomically(file_.path(), text)); }
  // The split count and the messages.
  std::string ReadNode(const std::string& node = "worker-1") {
    std::vector<Problem> warnings;
    const NodeConfig config = file_.Read(node, warnings);
    return (config.values.empty() ? "none" : config.values[0].text) + " " + Text(warnings);
  }

  const std::string dir_ = os::MakeTemporaryDirectory("/tmp/node_config_test").value();
  NodeConfigFile file_{dir_ + "/config.json"};
  const std::string good_ = R"({"nodeconfig":[{"name":"worker-1","devicesplitcount":5}]})";
};

TEST_F(NodeConfigFileTest, OneThatHasNeverBeenThereSaysNothing) {
  EXPECT_EQ(ReadNode(), "none ");
}

TEST_F(NodeConfigFileTest, OneThatBreaksOrGoesLeavesWhatItSaid) {
  Write(good_);
  EXPECT_EQ(ReadNode(), "5 ");
  Write("{");
  EXPECT_EQ(ReadNode(),
            "5 " + file_.path() +
                ": JSON, offset 1: incomplete JSON; its last good content stays [invalid]\n");
  ASSERT_TRUE(os::RemoveFile(file_.path()));
  EXPECT_TRUE(ReadNode().starts_with("5 " + file_.path() + ": ")) << ReadNode();
  Write(R"({"nodeconfig":[]})");
  EXPECT_EQ(ReadNode(), "none ");
}

TEST_F(NodeConfigFileTest, OneThatIsBrokenFromTheStartIsLeftOut) {
  Write("{");
  EXPECT_EQ(ReadNode(), "none " + file_.path() +
                            ": JSON, offset 1: incomplete JSON; it is left out [invalid]\n");
}

TEST_F(NodeConfigFileTest, WithoutANodesNameItHasNoEffectAndSaysSo) {
  Write(good_);
  EXPECT_EQ(ReadNode(""),
            "none " + file_.path() +
                ": has no effect: the variable NODE_NAME does not say which node this is "
                "[config-missing]\n");
}

}  // namespace
}  // namespace tessera::config::hami
