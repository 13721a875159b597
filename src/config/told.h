// SPDX-License-Identifier: Apache-2.0
// For tests: what a person is told about a bad file, word for word.
#pragma once

#include <string>

#include "config/load.h"

namespace tessera::config {

struct BadInput {
  const char* name;  // of the test: what is wrong
  const char* yaml;  // what follows the line with the version
  const char* told;
};

// Every error of a file with these lines after the one with the version, which is the first.
inline std::string Told(const std::string& yaml) {
  return Text(Load({.file = Document::Parse("t.yaml", "version: tessera/v1\n" + yaml)}).errors);
}

}  // namespace tessera::config
