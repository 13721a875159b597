// SPDX-License-Identifier: Apache-2.0
#include "cli/config_flags.h"

#include <gtest/gtest.h>

namespace tessera::cli {
namespace {

const Option* Find(const std::vector<Option>& options, std::string_view name) {
  for (const Option& option : options) {
    if (option.name == name) return &option;
  }
  return nullptr;
}

TEST(ConfigFlags, TheFileComesFirst) {
  auto flags = ConfigFlags();

  ASSERT_FALSE(flags.empty());
  EXPECT_EQ(flags.front().name, "--config");
  EXPECT_EQ(flags.front().value, "FILE");
}

TEST(ConfigFlags, EveryKeySaysItsDefaultAndItsVariable) {
  auto flags = ConfigFlags();
  const Option* level = Find(flags, "--log-level");

  ASSERT_NE(level, nullptr);
  EXPECT_EQ(level->help, "lines below this level are left out");
  EXPECT_EQ(level->note, "[default: info] [env: TESSERA_LOG_LEVEL]");
  EXPECT_NE(std::find(level->choices.begin(), level->choices.end(), "debug"), level->choices.end());
}

TEST(ConfigFlags, TheirHelpBeginsLikeThatOfOthers) {
  auto flags = ConfigFlags();

  EXPECT_EQ(Find(flags, "--health-flaps")->help,
            "the number of falls within flapWindow that makes a device flapping. A device falls "
            "when it becomes unhealthy");
}

TEST(ConfigFlags, TheParserFillsNothingIn) {
  for (const Option& flag : ConfigFlags()) {
    EXPECT_EQ(flag.fallback, "") << flag.name;
    EXPECT_EQ(flag.environment, "") << flag.name;
  }
}

TEST(ConfigFlags, OnlyWhatWasGivenIsPassedOn) {
  Arguments arguments;
  arguments.Set("log-level", "debug");
  arguments.Set("output", "json");
  arguments.Set("config", "/etc/x.yaml");

  EXPECT_EQ(ConfigFlagsIn(arguments), (std::map<std::string, std::string>{{"log-level", "debug"}}));
  EXPECT_EQ(ConfigFileIn(arguments), "/etc/x.yaml");
  EXPECT_EQ(ConfigFileIn(Arguments()), std::nullopt);
}

}  // namespace
}  // namespace tessera::cli
