// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "cli/command/output.h"
#include "cli/command/parse.h"
#include "sim/cli/main.h"

namespace tessera::cli {
namespace {

// The message for a wrong command line, on standard error.
std::string Refusal(const std::vector<std::string>& words) {
  SetProgramName("tessera-sim");
  Command command = KubeletCommand();
  Parsed parsed = Parse(command, words);
  if (parsed.command == nullptr) return parsed.text;
  testing::internal::CaptureStderr();
  EXPECT_EQ(parsed.command->run(parsed.arguments), kUsage);
  return testing::internal::GetCapturedStderr();
}

TEST(KubeletTree, DirectoryIsRequired) {
  EXPECT_EQ(Refusal({}),
            "tessera-sim kubelet: --dir is required\n'tessera-sim kubelet --help' says more\n");
  EXPECT_EQ(Refusal({"status"}),
            "tessera-sim kubelet status: --dir is required\n"
            "'tessera-sim kubelet status --help' says more\n");
}

TEST(KubeletTree, SpeedIsAWholeNumberAboveZero) {
  for (const char* speed : {"0", "-1", "1.5", "fast"}) {
    EXPECT_EQ(Refusal({"--dir", "/tmp/k", "--speed", speed}),
              "tessera-sim kubelet: --speed takes a whole number above 0\n"
              "'tessera-sim kubelet --help' says more\n");
  }
}

TEST(KubeletTree, DirectoryMayStandBeforeOrAfterTheOrder) {
  Command command = KubeletCommand();

  EXPECT_EQ(Parse(command, {"--dir", "/a", "status"}).arguments.Get("dir"), "/a");
  EXPECT_EQ(Parse(command, {"status", "--dir", "/a"}).arguments.Get("dir"), "/a");
}

TEST(KubeletTree, OrderWithNobodyThereFails) {
  Command command = KubeletCommand();
  Parsed parsed = Parse(
      command, {"run", "p", "--init", "a.com/x=1", "--limits", "a.com/x=2", "--dir", "/nowhere"});

  ASSERT_NE(parsed.command, nullptr) << parsed.text;
  SetProgramName("tessera-sim");
  testing::internal::CaptureStderr();
  EXPECT_EQ(parsed.command->run(parsed.arguments), kFailed);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "tessera-sim: no embedded kubelet answers in /nowhere; start one with 'tessera-sim "
            "kubelet --dir /nowhere': cannot connect to /nowhere/control.sock: No such file or "
            "directory [unavailable]: try again; if it repeats, see whether the other side runs\n");
}

}  // namespace
}  // namespace tessera::cli
