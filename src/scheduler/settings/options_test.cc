// SPDX-License-Identifier: Apache-2.0
#include "scheduler/settings/options.h"

#include "scheduler/settings/settings_under_test.h"

namespace tessera::scheduler {
namespace {

// The value's text as the option prints it, or the message about it.
std::string Loosely(std::string_view flag, std::string_view text) {
  Settings settings;
  const Option& option = *OptionOfFlag(flag);
  const auto misfit = StoreLoosely(option, text, settings);
  return misfit ? misfit->message : TextsOf(option, settings).front();
}

TEST(SchedulerOptions, SwitchesAreReadAsGoReadsThem) {
  for (const char* text : {"true", "True", "1", "t", "T", "yes"}) {
    EXPECT_EQ(Loosely("leader-elect", text), "true") << text;
  }
  for (const char* text : {"false", "FALSE", "0", "f", "F", "no"}) {
    EXPECT_EQ(Loosely("leader-elect", text), "false") << text;
  }
}

TEST(SchedulerOptions, TimesAreReadAsGoReadsThem) {
  EXPECT_EQ(Loosely("node-lock-timeout", "1m30s"), "90s");
  EXPECT_EQ(Loosely("node-lock-timeout", "5m0s"), "5m");
  EXPECT_EQ(Loosely("node-lock-timeout", "1h1m"), "61m");
  for (const char* text : {"5", "m", "5m5", "-1m", "99999999999999999999h"}) {
    EXPECT_TRUE(Loosely("node-lock-timeout", text).starts_with("takes a time")) << text;
  }
}

TEST(SchedulerOptions, WhatIsTakenOfAListIsAllOfItOrNothing) {
  Settings settings;
  EXPECT_TRUE(StoreLoosely(*OptionOfFlag("gpu-scheduler-policy"), "numa,nuna", settings));
  EXPECT_EQ(settings, Settings());
}

}  // namespace
}  // namespace tessera::scheduler
