// SPDX-License-Identifier: Apache-2.0
#include "cli/command/yaml.h"

#include <gtest/gtest.h>

namespace tessera::cli {
namespace {

std::string Yaml(std::string_view text) {
  return WriteYaml(json::Parse(text).value());
}

TEST(WriteYaml, MapsAndLists) {
  EXPECT_EQ(Yaml(R"({"node":"worker-1","count":2,"ratio":null,"ready":true,"none":[],"empty":{},
                     "devices":[{"id":"7","numaNodes":[0,1],"cordon":{"reason":"fan"}},{"id":"8"}],
                     "deep":[[1,[2]],["x"]]})"),
            R"(node: worker-1
count: 2
ratio: null
ready: true
none: []
empty: {}
devices:
- id: "7"
  numaNodes:
  - 0
  - 1
  cordon:
    reason: fan
- id: "8"
deep:
- - 1
  - - 2
- - x
)");
}

TEST(WriteYaml, TextThatLooksLikeSomethingElseIsQuoted) {
  struct Case {
    const char* json;
    const char* yaml;
  };
  const Case cases[] = {
      {R"("plain text, with 'this' (and) that")", "plain text, with 'this' (and) that\n"},
      {R"("/dev/ttyUSB0")", "/dev/ttyUSB0\n"},
      {R"("dummy.com/npu=7")", "\"dummy.com/npu=7\"\n"},
      {R"("")", "\"\"\n"},
      {R"("7")", "\"7\"\n"},
      {R"("0x1F")", "\"0x1F\"\n"},
      {R"("2026-11-20")", "\"2026-11-20\"\n"},
      {R"("True")", "\"True\"\n"},
      {R"("no")", "\"no\"\n"},
      {R"("null")", "\"null\"\n"},
      {R"("- x")", "\"- x\"\n"},
      {R"("a: b")", "\"a: b\"\n"},
      {R"("a #b")", "\"a #b\"\n"},
      {R"("ends with colon:")", "\"ends with colon:\"\n"},
      {R"("*star")", "\"*star\"\n"},
      {R"("two\nlines \"quoted\"")", "\"two\\nlines \\\"quoted\\\"\"\n"},
      {R"("größe")", "\"größe\"\n"},
      {"[]", "[]\n"},
      {"1.5", "1.5E0\n"},
  };
  for (const Case& c : cases) EXPECT_EQ(Yaml(c.json), c.yaml) << c.json;
}

TEST(WriteYaml, KeysAreQuotedLikeValues) {
  EXPECT_EQ(Yaml(R"({"7":1,"on":2})"), "\"7\": 1\n\"on\": 2\n");
}

}  // namespace
}  // namespace tessera::cli
