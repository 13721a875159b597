// SPDX-License-Identifier: Apache-2.0
#include "scheduler/settings/flags.h"

#include "scheduler/settings/settings_under_test.h"

namespace tessera::scheduler {
namespace {

CommandLine Parsed(const std::vector<std::string>& words) {
  return ParseFlags(words);
}

TEST(SchedulerFlags, VerbosityIsGivenInEachWayOfHamis) {
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"-v=4"}, {"-v4"}, {"-v", "4"}, {"--v=4"}, {"--v", "4"}}) {
    EXPECT_EQ(Good({.words = words}).verbosity, 4) << words.front();
  }
}

TEST(SchedulerFlags, ASwitchTakesItsValueBehindEqualsAlone) {
  EXPECT_TRUE(Good({.words = {"--leader-elect"}}).uses_lease);
  EXPECT_FALSE(Good({.words = {"--leader-elect=0"}}).uses_lease);
  EXPECT_EQ(ToldOf({.words = {"--leader-elect", "false"}}),
            "command line: 'false' is not a flag; give the value of a switch after '=', as in "
            "--leader-elect=false [config-unknown-key]\n");
}

TEST(SchedulerFlags, AnUnknownFlagNamesTheNearest) {
  EXPECT_EQ(ToldOf({.words = {"--scheduler-nam=x"}}),
            "flag --scheduler-nam: no such flag; did you mean 'scheduler-name'? "
            "[config-unknown-key]\n");
  EXPECT_EQ(ToldOf({.words = {"--cambricon-mlu-nam", "x"}}),
            "flag --cambricon-mlu-nam: no such flag; did you mean 'cambricon-mlu-name'? "
            "[config-unknown-key]\n");
}

TEST(SchedulerFlags, AFlagWithoutItsValueIsTold) {
  EXPECT_EQ(ToldOf({.words = {"--http_bind"}}),
            "flag --http_bind: needs a value [config-unknown-key]\n");
}

TEST(SchedulerFlags, AnEmptyValueSaysNothing) {
  EXPECT_TRUE(Parsed({"--node-label-selector=", "--scheduler-name", ""}).given.empty());
}

TEST(SchedulerFlags, FilesAreNamed) {
  const CommandLine line = Parsed({"--config=/a", "--device-config-file", "/b"});
  EXPECT_EQ(line.own_file, "/a");
  EXPECT_EQ(line.hami_file, "/b");
}

}  // namespace
}  // namespace tessera::scheduler
