// SPDX-License-Identifier: Apache-2.0
#include "cdi/cdi_reading.h"

#include <gtest/gtest.h>

#include "config/schema/alias_bomb_test.h"
#include "os/files.h"

namespace tessera {
namespace {

constexpr char kTools[] = R"(---
cdiVersion: 0.6.0
kind: nvidia.com/gpu
annotations: {major: 1}
devices:
- name: 0
  containerEdits:
    deviceNodes:
    - {path: /dev/nvidia0, major: 195, minor: 0, fileMode: 0666, uid: 0x10}
- name: "all"
  containerEdits: {env: [A=1]}
containerEdits:
  hooks:
  - {hookName: createContainer, path: /usr/bin/nvidia-cdi-hook, args: [nvidia-cdi-hook, 7]}
)";

std::string RefusalOf(const std::string& name, const std::string& text) {
  const auto document = ReadCdiText(name, text);
  return document ? "none" : document.error().message;
}

TEST(ReadCdi, YamlIsReadAsRuntimesReadIt) {
  const cdi::Document expected = {.kind = "nvidia.com/gpu",
                                  .devices = {{.name = "0",
                                               .edits = {.nodes = {{.path = "/dev/nvidia0",
                                                                    .type = "",
                                                                    .major = 195,
                                                                    .minor = 0,
                                                                    .file_mode = 0666,
                                                                    .uid = 16}}}},
                                              {.name = "all", .edits = {.env = {"A=1"}}}},
                                  .edits = {.hooks = {{.name = "createContainer",
                                                       .path = "/usr/bin/nvidia-cdi-hook",
                                                       .args = {"nvidia-cdi-hook", "7"}}}}};
  EXPECT_EQ(ReadCdiText("tool.yaml", kTools).value(), expected);
  EXPECT_EQ(DevicesIn(expected),
            (std::vector<std::string>{"nvidia.com/gpu=0", "nvidia.com/gpu=all"}));
}

TEST(ReadCdi, WhatANumberCannotBeIsRefused) {
  for (const std::string_view number : {"\"195\"", "08", "1.5", "many", "99999999999999999999"}) {
    std::string text = kTools;
    text.replace(text.find("195"), 3, number);
    EXPECT_EQ(RefusalOf("tool.yaml", text),
              "devices[0].containerEdits.deviceNodes[0].major is not a number in the valid range")
        << number;
  }
}

TEST(ReadCdi, TheNameSaysHowItIsRead) {
  EXPECT_TRUE(IsCdiFile("a.json"));
  EXPECT_TRUE(IsCdiFile("a.yaml"));
  for (const char* name : {"a.yml", "a.json.tmp", "json", ""})
    EXPECT_FALSE(IsCdiFile(name)) << name;
  EXPECT_EQ(RefusalOf("tool.json", kTools), "JSON, offset 1: syntax error");
}

TEST(ReadCdi, WhatIsMadeToDoHarmIsRefusedAtOnce) {
  EXPECT_EQ(RefusalOf("a.yaml", config::AliasBomb()),
            "more than 100000 values once aliases are resolved");
  const std::string dir = *os::MakeTemporaryDirectory(testing::TempDir() + "cdi");
  for (const char* path : {"/a.yaml", "/b.json"}) {
    ASSERT_TRUE(os::ReplaceFile(dir + path, std::string(20 << 20, '{')));
  }
  EXPECT_EQ(ReadCdiFile(dir + "/a.yaml").error().message,
            "more than 524288 bytes of YAML, the limit");
  EXPECT_EQ(ReadCdiFile(dir + "/b.json").error().message, "JSON, offset 1: syntax error");
  EXPECT_TRUE(os::RemoveTree(dir));
  EXPECT_EQ(RefusalOf("a.yaml", std::string(1 << 19, '{')),
            "a key must be text, not a list or a map");
}

}  // namespace
}  // namespace tessera
