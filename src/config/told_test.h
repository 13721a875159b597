// SPDX-License-Identifier: Apache-2.0
// For tests: the configuration from a good file, and the messages for a bad one.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "config/load.h"
#include "kinds/kinds.h"

namespace tessera::config {

// Loads these lines after a first line with the version.
inline LoadResult LoadLines(const std::string& yaml) {
  return Load(FullSchema(), {.file = Document::Parse("t.yaml", "version: tessera/v1\n" + yaml)});
}

// The configuration of a good file.
inline Config Good(const std::string& yaml) {
  const LoadResult result = LoadLines(yaml);
  EXPECT_EQ(Text(result.errors), "");
  return result.config;
}

// Every error of a bad file.
inline std::string Told(const std::string& yaml) {
  return Text(LoadLines(yaml).errors);
}

// One kind of bad file.
struct BadInput {
  const char* name;  // the name of the test: its fault
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
