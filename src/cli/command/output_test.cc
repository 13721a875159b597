// SPDX-License-Identifier: Apache-2.0
#include "cli/command/output.h"

#include <gtest/gtest.h>

namespace tessera::cli {
namespace {

TEST(OutputView, InAPipeLinesAreAsLongAsOnAWideTerminal) {
  testing::internal::CaptureStdout();
  const View usual = OutputView();
  const View wide = OutputView(true);
  testing::internal::GetCapturedStdout();
  EXPECT_EQ(usual.columns, 120);
  EXPECT_FALSE(usual.color);
  EXPECT_EQ(wide.columns, 0);
}

}  // namespace
}  // namespace tessera::cli
