// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/main.h"

#include <gtest/gtest.h>

#include "backend/dummy/fault_file.h"
#include "base/text.h"
#include "cli/command/help.h"
#include "cli/command/help_texts_test.h"
#include "cli/command/layout.h"
#include "os/files.h"

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

// As cli/texts_test.cc does.
TEST(SimProgramTest, ItsHelpIsWrittenForToolsThatMeasureProse) {
  ASSERT_TRUE(os::MakeDirectories("build/texts"));
  ASSERT_TRUE(os::WriteFileAtomically("build/texts/tessera-sim.md", HelpTexts(SimProgram()), 0644));
}

TEST(SimProgramTest, ItTellsItsVersionByItsOwnName) {
  std::string words[] = {"tessera-sim", "--version"};
  char* argv[] = {words[0].data(), words[1].data()};
  testing::internal::CaptureStdout();
  EXPECT_EQ(SimMain(2, argv), kOk);
  EXPECT_TRUE(testing::internal::GetCapturedStdout().starts_with("tessera-sim "));
}

TEST(SimProgramTest, AFaultIsWrittenWhereItsAgentReadsIt) {
  const std::string state = *os::MakeTemporaryDirectory(testing::TempDir() + "sim");
  Arguments arguments;
  arguments.Set("VERB", "fail");
  arguments.Set("RESOURCE", "dummy.com/npu");
  arguments.Set("DEVICE", "7");
  arguments.Set("DETAIL", "ECC error");
  arguments.Set("state-dir", state);
  testing::internal::CaptureStdout();
  EXPECT_EQ(FaultCommand().run(arguments), kOk);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "fail: dummy.com/npu/7\n");
  EXPECT_EQ(dummy::ReadFaultFile(state + "/dummy/dummy.com_npu.json").value().Of("7"),
            dummy::Fault{.fail = "ECC error"});
  EXPECT_TRUE(os::RemoveTree(state));
}

}  // namespace
}  // namespace tessera::cli
