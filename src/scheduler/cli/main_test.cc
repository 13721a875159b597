// SPDX-License-Identifier: Apache-2.0
#include "scheduler/cli/main.h"

#include <gtest/gtest.h>

#include "cli/command/parse.h"

namespace tessera::cli {
namespace {

TEST(SchedulerMainTest, KubeSchedulerIsHeardOnThisMachineAloneUnlessSaidOtherwise) {
  const Command program = SchedulerProgram();
  EXPECT_EQ(Parse(program, {}).arguments.Get("extender-bind"), "127.0.0.1:9444");
  EXPECT_EQ(Parse(program, {"--extender-bind", "127.0.0.1:1"}).arguments.Get("extender-bind"),
            "127.0.0.1:1");
}

TEST(SchedulerMainTest, AnUnknownFlagIsNamed) {
  const Command program = SchedulerProgram();
  const Parsed parsed = Parse(program, {"--port", "1"});
  EXPECT_EQ(parsed.exit_code, kUsage);
  EXPECT_NE(parsed.text.find("--port"), std::string::npos) << parsed.text;
}

}  // namespace
}  // namespace tessera::cli
