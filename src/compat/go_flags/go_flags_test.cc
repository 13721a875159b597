// SPDX-License-Identifier: Apache-2.0
#include "compat/go_flags/go_flags.h"

#include <gtest/gtest.h>

namespace tessera::config {
namespace {

using Words = std::vector<std::string>;
using Values = std::vector<std::pair<std::string, std::string>>;

constexpr GoFlag kFlags[] = {{"config-file", "FILE", "A file."}, {"v", "LEVEL"}, {"quiet"}};

std::string Told(const Words& words) {
  const GoCommandLine line = ParseGoFlags(kFlags, words);
  return Text(line.errors) + Text(line.warnings);
}

TEST(ParseGoFlags, TakesAllFormsInTheirOrder) {
  const Words words = {"-v", "5", "--quiet", "-quiet=false", "-config-file=/a", "--v=6"};

  EXPECT_EQ(
      ParseGoFlags(kFlags, words).values,
      (Values{
          {"v", "5"}, {"quiet", "true"}, {"quiet", "false"}, {"config-file", "/a"}, {"v", "6"}}));
  EXPECT_EQ(Told(words), "");
}

TEST(ParseGoFlags, TheLastValueCounts) {
  const GoCommandLine line = ParseGoFlags(kFlags, Words{"-v=1", "-v=2"});

  EXPECT_EQ(line.ValueOf("v", "0"), "2");
  EXPECT_EQ(line.ValueOf("config-file", "/etc/a"), "/etc/a");
}

TEST(ParseGoFlags, TellsAllBadFlags) {
  EXPECT_EQ(Told({"-config-fil=/a", "-nonsense", "-config-file"}),
            "flag -config-fil: no such flag; did you mean 'config-file'? [config-unknown-key]\n"
            "flag -nonsense: no such flag [config-unknown-key]\n"
            "flag -config-file: needs a value [config-bad-value]\n");
}

TEST(ParseGoFlags, AWordThatIsNoFlagEndsThem) {
  EXPECT_EQ(Told({"-quiet", "rest", "-nonsense"}),
            "command line: 'rest' and the arguments after it have no effect, as in the plugin "
            "[config-unknown-key]\n");
}

TEST(ParseGoFlags, HelpIsAskedForByEitherForm) {
  EXPECT_TRUE(ParseGoFlags(kFlags, Words{"-h"}).help);
  EXPECT_TRUE(ParseGoFlags(kFlags, Words{"--help"}).help);
}

}  // namespace
}  // namespace tessera::config
