// SPDX-License-Identifier: Apache-2.0
#include "config/schema/yaml_text.h"

#include <gtest/gtest.h>

namespace tessera::config {
namespace {

TEST(YamlText, WhatYamlReadsAsItIsHasNoQuotes) {
  for (const char* text : {"nvidia.com/gpu", "/var/lib", "127.0.0.1:9444", "a_b-c"}) {
    EXPECT_EQ(YamlText(text), text);
  }
}

TEST(YamlText, WhatYamlTakesForSomethingElseIsQuoted) {
  EXPECT_EQ(YamlText(""), R"("")");
  EXPECT_EQ(YamlText("yes"), R"("yes")");
  EXPECT_EQ(YamlText(":9395"), R"(":9395")");
  EXPECT_EQ(YamlText("-v"), R"("-v")");
  EXPECT_EQ(YamlText("a: b # c"), R"("a: b # c")");
  EXPECT_EQ(YamlText("gpu=on"), R"("gpu=on")");
  EXPECT_EQ(YamlText("line\nline"), R"("line\nline")");
  EXPECT_EQ(YamlText("a\x7f b\xc2\x85"), R"("a\u007f b\u0085")");
}

}  // namespace
}  // namespace tessera::config
