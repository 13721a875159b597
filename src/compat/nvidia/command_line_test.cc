// SPDX-License-Identifier: Apache-2.0
#include "compat/nvidia/command_line.h"

#include "compat/nvidia/told_test.h"

namespace tessera::config::nvidia {
namespace {

using Strings = std::vector<std::string>;

std::string ErrorsOf(const Strings& words) {
  return Text(ParseCommandLine(words).errors);
}

TEST(NvidiaCommandLine, OneDashOrTwoAndAValueBesideOrBehindEquals) {
  Settings wanted;
  wanted.mig_strategy = "single";
  wanted.driver_root = "/a";
  wanted.dev_root = "/b";
  wanted.kubelet_socket = "";
  EXPECT_EQ(Good({.words = {"--mig-strategy", "single", "-driver-root", "/a", "-dev-root=/b",
                            "--kubelet-socket="}}),
            wanted);
}

TEST(NvidiaCommandLine, ASwitchAloneIsYes) {
  Settings wanted;
  wanted.gds = true;
  wanted.mofed = false;
  wanted.fail_on_init_error = false;
  EXPECT_EQ(Good({.words = {"--gds-enabled", "-mofed-enabled=FALSE", "--fail-on-init-error=0"}}),
            wanted);
}

TEST(NvidiaCommandLine, AListMayBeGivenInParts) {
  Settings wanted;
  wanted.list_strategies = {"envvar", "cdi-cri", "volume-mounts"};
  wanted.imex_channels = {0};
  EXPECT_EQ(Good({.words = {"--device-list-strategy", "envvar, cdi-cri", "--imex-channel-ids=0",
                            "--device-list-strategy=volume-mounts"}}),
            wanted);
}

TEST(NvidiaCommandLine, OtherNamesOfAFlagAreTheFlag) {
  Settings wanted;
  wanted.driver_root = "/a";
  wanted.dev_root = "/b";
  wanted.cdi_hook_path = "/c";
  wanted.container_driver_root = "/d";
  EXPECT_EQ(Good({.words = {"--nvidia-driver-root=/a", "--nvidia-dev-root=/b",
                            "--nvidia-ctk-path=/c", "--container-driver-root=/d"}}),
            wanted);
}

TEST(NvidiaCommandLine, OfAValueGivenTwiceTheLastCounts) {
  EXPECT_EQ(Good({.words = {"--mig-strategy=mixed", "--mig-strategy=single"}}).mig_strategy,
            "single");
}

TEST(NvidiaCommandLine, HelpAndVersionAreAskedFor) {
  EXPECT_TRUE(ParseCommandLine(Strings{"--help"}).help);
  EXPECT_TRUE(ParseCommandLine(Strings{"-h"}).help);
  EXPECT_TRUE(ParseCommandLine(Strings{"--version"}).version);
  EXPECT_TRUE(ParseCommandLine(Strings{"-v"}).version);
  EXPECT_FALSE(ParseCommandLine(Strings{"--mig-strategy", "--help"}).help);
}

TEST(NvidiaCommandLine, WhatIsNoFlagIsTold) {
  EXPECT_EQ(ErrorsOf({"--mig-strategi=x", "--config-file"}),
            "flag --mig-strategi: no such flag; did you mean 'mig-strategy'? "
            "[config-unknown-key]\n"
            "flag --config-file: needs a value [config-unknown-key]\n");
  EXPECT_EQ(ErrorsOf({"--"}), "");
}

// In Go no flag follows a word that is no flag.
TEST(NvidiaCommandLine, WhatStandsBehindAWordThatIsNoFlagHasNoEffectAndIsTold) {
  const Started started = {.words = {"--gds-enabled", "false", "--mig-strategy=single", "--also"}};
  std::string errors;
  std::string warnings;
  Settings wanted;
  wanted.gds = true;
  EXPECT_EQ(Read(started, &errors, &warnings), wanted);
  EXPECT_EQ(errors, "");
  EXPECT_EQ(
      warnings,
      "command line: 'false' and the arguments after it have no effect, as in NVIDIA's plugin; "
      "write a switch's value after '=', as in --gds-enabled=false [config-unknown-key]\n");
}

TEST(NvidiaCommandLine, FlagsOfTesseraAreToldWhereTheyStand) {
  EXPECT_EQ(ErrorsOf({"--log-level", "debug", "--config", "ok.yaml"}),
            "flag --log-level: is a flag of Tessera's own: give it in the environment as "
            "TESSERA_LOG_LEVEL, or before 'nvidia' with 'tessera agent nvidia' "
            "[config-unknown-key]\n"
            "flag --config: no such flag; did you mean 'config-file'? [config-unknown-key]\n");
}

TEST(NvidiaCommandLine, AValueThatIsNoGoodIsTold) {
  EXPECT_EQ(Told({.words = {"--gds-enabled=maybe", "--imex-channel-ids="}}),
            "flags.gdsEnabled takes true or false, not 'maybe'\n"
            "imex.channelIDs takes whole numbers, separated by commas, not ''\n");
}

TEST(NvidiaCommandLine, TheFileIsNamedByFlagElseByVariable) {
  const std::map<std::string, std::string> environment = {{"CONFIG_FILE", "/env"}};
  EXPECT_EQ(ConfigFileOf(ParseCommandLine(Strings{"--config-file=/flag"}), environment), "/flag");
  EXPECT_EQ(ConfigFileOf({}, environment), "/env");
  EXPECT_EQ(ConfigFileOf({}, {}), "");
}

}  // namespace
}  // namespace tessera::config::nvidia
