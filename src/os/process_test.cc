// SPDX-License-Identifier: Apache-2.0
#include "os/process.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <csignal>
#include <cstdlib>

#include "os/files.h"

namespace tessera::os {
namespace {

TEST(ProcessTest, TheExitCodeAndTheOutputArrive) {
  std::string dir = *MakeTemporaryDirectory(testing::TempDir() + "proc");
  auto process = Process::Start({"/bin/sh", "-c", "echo hello; exit 3"}, dir + "/log");
  ASSERT_TRUE(process);

  EXPECT_EQ(process->Wait(), 3);
  EXPECT_EQ(*ReadFile(dir + "/log"), "hello\n");
  (void)RemoveTree(dir);
}

TEST(ProcessTest, ASignalledProcessSaysWhich) {
  auto process = Process::Start({"/bin/sleep", "100"}, "");
  ASSERT_TRUE(process);
  EXPECT_EQ(process->Poll(), std::nullopt);

  process->Signal(SIGTERM);

  EXPECT_EQ(process->Wait(), 128 + SIGTERM);
}

TEST(ProcessTest, AProcessIsFoundByTheFirstWordOfItsCommandLine) {
  const std::string name = *MakeTemporaryDirectory(testing::TempDir() + "proc") + "/sleeper";
  ASSERT_TRUE(ReplaceLink(name, "/bin/sleep").has_value());
  auto process = Process::Start({name, "100"}, "");
  ASSERT_TRUE(process);

  // Between fork and exec the child still goes by our own name.
  while (!FindProcess(name)) sched_yield();

  EXPECT_EQ(FindProcess(name), process->pid());
  EXPECT_EQ(FindProcess(name + "x"), std::nullopt);
}

TEST(ProcessTest, AProgramThatIsNotThereEndsWith127) {
  auto process = Process::Start({"/nowhere/program"}, "");
  ASSERT_TRUE(process);

  EXPECT_EQ(process->Wait(), 127);
}

TEST(ProcessTest, AProcessIsInAPodWhereKubeletTellsItOfTheApiServer) {
  unsetenv("KUBERNETES_SERVICE_HOST");
  EXPECT_FALSE(RunsInPod());

  setenv("KUBERNETES_SERVICE_HOST", "10.96.0.1", 1);
  EXPECT_TRUE(RunsInPod());
  unsetenv("KUBERNETES_SERVICE_HOST");
}

}  // namespace
}  // namespace tessera::os
