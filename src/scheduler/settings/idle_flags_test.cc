// SPDX-License-Identifier: Apache-2.0
#include "scheduler/settings/flags.h"

#include "scheduler/settings/settings_under_test.h"

namespace tessera::scheduler {
namespace {

TEST(SchedulerFlags, EveryIdleFlagIsTaken) {
  for (const IdleFlag& flag : IdleFlags()) {
    const CommandLine line =
        ParseFlags(std::vector<std::string>{"--" + std::string(flag.name) + "=x", "--help"});
    EXPECT_TRUE(line.errors.empty()) << flag.name;
    EXPECT_TRUE(line.help);
    EXPECT_EQ(OptionOfFlag(flag.name), nullptr) << flag.name;
  }
}

}  // namespace
}  // namespace tessera::scheduler
