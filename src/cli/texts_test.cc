// SPDX-License-Identifier: Apache-2.0
// Writes the programs' texts into build/texts, for tools that measure prose.
#include <gtest/gtest.h>

#include <string>

#include "base/error.h"
#include "cli/command/help_texts_test.h"
#include "cli/main.h"
#include "config/schema.h"
#include "http/metrics.h"
#include "kinds/kinds.h"
#include "os/files.h"

namespace tessera::cli {
namespace {

// A heading for each kind of text, a paragraph for each text.
std::string AllTexts() {
  std::string out = "# Advice\n\n";
  for (const Reason reason : AllReasons()) out += std::string(ReasonAdvice(reason)) + "\n\n";
  out += "# Metrics\n\n";
  for (const http::MetricInfo& info : http::AllMetrics()) out += std::string(info.help) + "\n\n";
  out += "# Configuration\n\n";
  for (const config::PathKey& key : FullSchema().keys()) out += std::string(key.key->doc) + "\n\n";
  return out + "# Help\n\n" + HelpTexts(Program());
}

TEST(Texts, AreWrittenForToolsThatMeasureProse) {
  ASSERT_TRUE(os::MakeDirectories("build/texts"));
  ASSERT_TRUE(os::WriteFileAtomically("build/texts/tessera.md", AllTexts(), 0644));
}

}  // namespace
}  // namespace tessera::cli
