// SPDX-License-Identifier: Apache-2.0
#include "sim/demo/output.h"

#include <gtest/gtest.h>

namespace tessera::demo {
namespace {

Event EventOf(std::string text) {
  Event event;
  event.at = Duration(1'500);
  event.name = "say";
  event.text = std::move(text);
  return event;
}

// The output for an ordinary and a quiet event.
std::string Written(const DemoOptions& options) {
  testing::internal::CaptureStdout();
  const std::unique_ptr<Output> output = MakeOutput(options);
  Event quiet = EventOf("quiet");
  quiet.quiet = true;
  EXPECT_TRUE(output->Happened(EventOf("told")));
  EXPECT_TRUE(output->Happened(quiet));
  EXPECT_FALSE(output->live());
  return testing::internal::GetCapturedStdout();
}

TEST(Output, PlainLinesLeaveOutWhatIsForMachines) {
  EXPECT_EQ(Written({.plain = true}), "00:01.500  told\n");
}

TEST(Output, JsonHasAll) {
  EXPECT_EQ(Written({.json = true}),
            "{\"time_ms\":1500,\"event\":\"say\",\"text\":\"told\"}\n"
            "{\"time_ms\":1500,\"event\":\"say\",\"text\":\"quiet\"}\n");
}

TEST(Output, NotATerminalGetsPlainLines) {
  EXPECT_EQ(Written({}), "00:01.500  told\n");
}

TEST(Output, JsonEndsWithTheSummary) {
  testing::internal::CaptureStdout();
  MakeOutput({.json = true})->End({});
  const std::string text = testing::internal::GetCapturedStdout();
  EXPECT_TRUE(text.starts_with("{\"event\":\"summary\",\"good\":true,")) << text;
  EXPECT_TRUE(text.ends_with("}\n"));
}

}  // namespace
}  // namespace tessera::demo
