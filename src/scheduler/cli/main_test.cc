// SPDX-License-Identifier: Apache-2.0
#include "scheduler/cli/main.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "scheduler/settings/options.h"

namespace tessera::cli {
namespace {

TEST(SchedulerMainTest, HelpHasEveryFlagThatHasAnEffect) {
  const std::vector<Option> options = SchedulerProgram().options;
  for (const scheduler::Option& option : scheduler::Options()) {
    if (option.flag.empty()) continue;
    const std::string name = "--" + std::string(option.flag);
    EXPECT_EQ(std::ranges::count(options, name, &Option::name), 1) << name;
  }
}

}  // namespace
}  // namespace tessera::cli
