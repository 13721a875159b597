// SPDX-License-Identifier: Apache-2.0
#include "os/process.h"

#include <gtest/gtest.h>
#include <linux/prctl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <sstream>
#include <vector>

#include "os/fd.h"

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

  // Between fork and exec the child still has our name.
  while (!FindProcess(name)) sched_yield();

  EXPECT_EQ(FindProcess(name), process->pid());
  EXPECT_EQ(FindProcess(name + "x"), std::nullopt);
}

constexpr size_t kGibibyte = size_t{1} << 30;

// Replaces this process's arguments, as any process may do without rights. The new arguments take
// no memory.
bool TakeArguments(size_t size) {
  void* at = mmap(nullptr, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  const std::string stat = ReadFile("/proc/self/stat").value_or("");
  std::istringstream words(stat.substr(stat.rfind(')') + 1));
  std::vector<uint64_t> fields(3);  // as proc(5) counts them, from 1
  std::string state;
  words >> state;
  for (uint64_t field = 0; words >> field;) fields.push_back(field);
  if (at == MAP_FAILED || fields.size() < 51) return false;
  prctl_mm_map map{};
  map.start_code = fields[25];
  map.end_code = fields[26];
  map.start_data = fields[44];
  map.end_data = fields[45];
  map.start_brk = fields[46];
  map.brk = reinterpret_cast<uint64_t>(sbrk(0));
  map.start_stack = fields[27];
  map.arg_start = reinterpret_cast<uint64_t>(at);
  map.arg_end = map.arg_start + size - 1;
  map.env_start = fields[49];
  map.env_end = fields[49];
  map.exe_fd = UINT32_MAX;
  return prctl(PR_SET_MM, PR_SET_MM_MAP, &map, sizeof map, 0) == 0;
}

size_t MostMemory() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<size_t>(usage.ru_maxrss) << 10;
}

TEST(ProcessTest, ArgumentsWithoutEndAreReadNoFurtherThanTheWord) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const char taken = TakeArguments(kGibibyte) ? 'y' : 'n';
    if (write(ends[1], &taken, 1) == 1) pause();
    _exit(0);
  }
  const Fd reading(ends[0]);
  const Fd writing(ends[1]);
  char taken = 0;
  ASSERT_EQ(read(reading.get(), &taken, 1), 1);

  const size_t before = MostMemory();
  EXPECT_EQ(FindProcess("/no/such/program"), std::nullopt);
  EXPECT_LT(MostMemory() - before, kGibibyte / 4);

  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  if (taken != 'y') GTEST_SKIP() << "this kernel lets no process choose its arguments";
}

TEST(ProcessTest, ProcessesAreListedByTheirNumbers) {
  const std::vector<pid_t> all = ProcessIds();
  EXPECT_TRUE(std::ranges::is_sorted(all));
  EXPECT_EQ(std::ranges::count(all, getpid()), 1);
}

TEST(ProcessTest, TheStatOfAProcessBeginsWithItsStateAndParent) {
  const std::vector<std::string> stat = StatOf("self");
  ASSERT_GE(stat.size(), 20U);
  EXPECT_EQ(stat[0], "R");
  EXPECT_EQ(stat[1], std::to_string(getppid()));
  EXPECT_EQ(StatOf("0"), std::vector<std::string>());
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
