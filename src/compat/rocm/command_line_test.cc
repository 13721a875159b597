// SPDX-License-Identifier: Apache-2.0
#include "compat/rocm/command_line.h"

#include <gtest/gtest.h>

namespace tessera::config::rocm {
namespace {

using Words = std::vector<std::string>;

std::string Told(const Words& words) {
  const CommandLine line = ParseCommandLine(words);
  return Text(line.errors) + Text(line.warnings);
}

TEST(RocmCommandLineTest, WithoutFlagsAllGpusAreOneResource) {
  EXPECT_EQ(YamlOf(ParseCommandLine({})),
            "version: tessera/v1\nresources: [{name: \"amd.com/gpu\", amd: {}}]\n");
}

TEST(RocmCommandLineTest, ThePluginsFlagsMeanTheSame) {
  const Words words = {"-logtostderr=true", "--stderrthreshold=INFO",    "-v",   "5",
                       "-pulse=30",         "-resource_naming_strategy", "mixed"};
  EXPECT_EQ(Told(words), "");
  EXPECT_EQ(YamlOf(ParseCommandLine(words)),
            "version: tessera/v1\nhealth: {checkInterval: 30s, staleAfter: 70s}\n"
            "resources: [{name: \"amd.com/{profile}\", amd: {}}]\n");
}

TEST(RocmCommandLineTest, BadFlagsAreAllTold) {
  EXPECT_EQ(Told({"-puls=1", "-pulse=soon", "-resource_naming_strategy=both",
                  "-driver_type=vf-passthrough", "-pulse"}),
            "flag -pulse: takes seconds from 0 to 3600, not 'soon' [config-bad-value]\n"
            "flag -resource_naming_strategy: takes 'single' or 'mixed', not 'both' "
            "[config-bad-value]\n"
            "flag -driver_type: 'vf-passthrough' is not served: AMD's own plugin hands out GPUs of "
            "virtual machines [config-bad-value]\n"
            "flag -puls: no such flag; did you mean 'pulse'? [config-unknown-key]\n"
            "flag -pulse: needs a value [config-bad-value]\n");
}

TEST(RocmCommandLineTest, AWordThatIsNoFlagEndsThem) {
  EXPECT_EQ(Told({"-pulse", "5", "rest", "-nonsense"}),
            "command line: 'rest' and the arguments after it have no effect, as in the plugin "
            "[config-unknown-key]\n");
}

TEST(RocmCommandLineTest, HelpIsAskedForByEitherForm) {
  EXPECT_TRUE(ParseCommandLine(Words{"-h"}).help);
  EXPECT_TRUE(ParseCommandLine(Words{"--help"}).help);
}

}  // namespace
}  // namespace tessera::config::rocm
