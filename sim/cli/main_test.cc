// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/main.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "cli/command/help.h"
#include "cli/command/layout.h"

namespace tessera::cli {
namespace {

TEST(SimProgramTest, ItsCommandsAreDescribedInEightyColumns) {
  const Command program = SimProgram();
  for (const Command& command : program.commands) {
    EXPECT_FALSE(command.summary.empty()) << command.name;
    EXPECT_FALSE(command.examples.empty()) << command.name;
    for (const Example& example : command.examples) {
      EXPECT_TRUE(example.line.starts_with("tessera-sim " + command.name)) << example.line;
    }
    for (const std::string& line : Split(HelpText(command, "tessera-sim " + command.name), '\n')) {
      EXPECT_LE(Width(line), 80U) << line;
    }
  }
}

TEST(SimProgramTest, ItTellsItsVersionByItsOwnName) {
  std::string words[] = {"tessera-sim", "--version"};
  char* argv[] = {words[0].data(), words[1].data()};
  testing::internal::CaptureStdout();
  EXPECT_EQ(SimMain(2, argv), kOk);
  EXPECT_TRUE(testing::internal::GetCapturedStdout().starts_with("tessera-sim "));
}

}  // namespace
}  // namespace tessera::cli
