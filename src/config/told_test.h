// SPDX-License-Identifier: Apache-2.0
// For tests: what a file amounts to, and what a person is told about a bad one, word for word.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "config/load.h"
#include "kinds/kinds.h"

namespace tessera::config {

// A file with these lines after the one with the version, which is the first.
inline LoadResult LoadLines(const std::string& yaml) {
  return Load(FullSchema(), {.file = Document::Parse("t.yaml", "version: tessera/v1\n" + yaml)});
}

// What a good file amounts to.
inline Config Good(const std::string& yaml) {
  const LoadResult result = LoadLines(yaml);
  EXPECT_EQ(Text(result.errors), "");
  return result.config;
}

// Every error of a bad one.
inline std::string Told(const std::string& yaml) {
  return Text(LoadLines(yaml).errors);
}

// One way to write a bad file.
struct BadInput {
  const char* name;  // of the test: what is wrong
  const char* yaml;  // as for Told
  const char* told;
};

class BadInputTest : public testing::TestWithParam<BadInput> {
 protected:
  static void ExpectIsTold() { EXPECT_EQ(Told(GetParam().yaml), GetParam().told); }
};

inline std::string NameOf(const testing::TestParamInfo<BadInput>& test) {
  return test.param.name;
}

}  // namespace tessera::config
