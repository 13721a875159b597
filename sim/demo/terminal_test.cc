// SPDX-License-Identifier: Apache-2.0
#include "sim/demo/terminal.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace tessera::demo {
namespace {

class TerminalTest : public ::testing::Test {
 protected:
  TerminalTest() {
    for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG", "NO_COLOR"}) unsetenv(name);
  }
  static void Set(const char* name, const char* value) { setenv(name, value, 1); }
};

TEST_F(TerminalTest, LocaleSaysWhetherUnicodeIsWanted) {
  EXPECT_FALSE(WantsUnicode());
  Set("LANG", "de_DE.UTF-8");
  EXPECT_TRUE(WantsUnicode());
  Set("LC_ALL", "C");
  EXPECT_FALSE(WantsUnicode());
  Set("LC_ALL", "C.utf8");
  EXPECT_TRUE(WantsUnicode());
}

TEST_F(TerminalTest, NoColorIsRespected) {
  EXPECT_TRUE(WantsColour());
  Set("NO_COLOR", "1");
  EXPECT_FALSE(WantsColour());
}

TEST_F(TerminalTest, WrittenTextArrivesWhole) {
  testing::internal::CaptureStdout();
  EXPECT_TRUE(WriteOut("a line\n"));
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "a line\n");
}

TEST_F(TerminalTest, PipeIsNoPlaceForALiveView) {
  Set("TERM", "xterm");
  testing::internal::CaptureStdout();
  EXPECT_FALSE(CanShowLive());
  testing::internal::GetCapturedStdout();
}

}  // namespace
}  // namespace tessera::demo
