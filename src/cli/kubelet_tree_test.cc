// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "cli/commands.h"
#include "cli/parse.h"

namespace tessera::cli {
namespace {

// What a wrong command line is answered with, on standard error.
std::string Refusal(const std::vector<std::string>& words) {
  Command command = KubeletCommand();
  Parsed parsed = Parse(command, words);
  if (parsed.command == nullptr) return parsed.text;
  testing::internal::CaptureStderr();
  EXPECT_EQ(parsed.command->run(parsed.arguments), kUsage);
  return testing::internal::GetCapturedStderr();
}

TEST(KubeletTree, DirectoryIsRequired) {
  EXPECT_EQ(Refusal({}),
            "tessera kubelet: --dir is required\n'tessera kubelet --help' says more\n");
  EXPECT_EQ(Refusal({"status"}),
            "tessera kubelet status: --dir is required\n"
            "'tessera kubelet status --help' says more\n");
}

TEST(KubeletTree, SpeedIsAWholeNumberAboveZero) {
  for (const char* speed : {"0", "-1", "1.5", "fast"}) {
    EXPECT_EQ(Refusal({"--dir", "/tmp/k", "--speed", speed}),
              "tessera kubelet: --speed takes a whole number above 0\n"
              "'tessera kubelet --help' says more\n");
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
  testing::internal::CaptureStderr();
  EXPECT_EQ(parsed.command->run(parsed.arguments), kFailed);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "tessera: no embedded kubelet answers in /nowhere, where 'tessera kubelet --dir "
            "/nowhere' starts one: cannot connect to /nowhere/control.sock: No such file or "
            "directory [unavailable]: try again; if it goes on, see whether the other side runs\n");
}

}  // namespace
}  // namespace tessera::cli
