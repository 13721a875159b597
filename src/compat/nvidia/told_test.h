// SPDX-License-Identifier: Apache-2.0
// For tests: the result of NVIDIA's settings, and the messages about them, word for word.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "compat/nvidia/load.h"

namespace tessera::config::nvidia {

// A file, and everything else that the plugin is started with.
struct Started {
  std::string yaml{};
  std::map<std::string, std::string> environment{};
  std::vector<std::string> words{};

  Sources From() const {
    return {.file = Document::Parse("t.yaml", yaml),
            .environment = environment,
            .line = ParseCommandLine(words)};
  }
};

inline Settings Read(const Started& started, std::string* errors, std::string* warnings) {
  const Sources sources = started.From();
  Findings findings(*sources.file);
  Settings settings = ReadSettings(sources, findings);
  *errors = Text(findings.SortedErrors());
  *warnings = Text(findings.warnings());
  return settings;
}

// The settings of a good start, without a warning.
inline Settings Good(const Started& started) {
  std::string errors;
  std::string warnings;
  Settings settings = Read(started, &errors, &warnings);
  EXPECT_EQ(errors + warnings, "");
  return settings;
}

// Only the messages, one a line; a few tests check their places.
inline std::string Messages(const std::vector<Problem>& problems) {
  std::string out;
  for (const Problem& problem : problems) out += problem.message + "\n";
  return out;
}

// Every error by the plugin's own rules.
inline std::string Told(const Started& started) {
  const Sources sources = started.From();
  Findings findings(*sources.file);
  ReadSettings(sources, findings);
  return Messages(findings.SortedErrors());
}

inline std::string Warned(const Started& started) {
  const Sources sources = started.From();
  Findings findings(*sources.file);
  ReadSettings(sources, findings);
  return Messages(findings.warnings());
}

}  // namespace tessera::config::nvidia
