// SPDX-License-Identifier: Apache-2.0
// For tests: a container's directory with a region, and processes of it. The test itself never
// joins; it only reads the region. Each process that joins is a child and reports by its exit code
// whether its expectations held.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>

#include "limiter/accounting/accounting.h"
#include "limiter/accounting/counters.h"

namespace tessera::limiter {

inline constexpr uint64_t kMiB = 1 << 20;

class Container : public testing::Test {
 protected:
  Container() {
    std::string path = (std::filesystem::temp_directory_path() / "accounting-XXXXXX").string();
    directory_ = mkdtemp(path.data());
    chmod(directory_.c_str(), 0777);
    SetLimit(100 * kMiB);
  }
  ~Container() override {
    if (region_ != nullptr) munmap(region_, kRegionSize);
    std::filesystem::remove_all(directory_);
  }

  std::string Path() const { return directory_ / "x.cache"; }

  void SetLimit(uint64_t bytes, Source source = Source::kEnvironment) {
    limits_ = {};
    limits_.source = source;
    limits_.count = 1;
    limits_.devices[0].bytes = bytes;
    std::strcpy(limits_.devices[0].uuid, "GPU-aa");
    std::strncpy(limits_.region, Path().c_str(), sizeof(limits_.region) - 1);
  }

  // Runs a function in a process of its own.
  template <typename Run>
  static pid_t Start(Run run) {
    std::fflush(nullptr);
    const pid_t pid = fork();
    if (pid != 0) return pid;
    run();
    std::fflush(nullptr);
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  template <typename Run>
  static void InProcess(Run run) {
    EXPECT_EQ(EndOf(Start(run)), 0);
  }
  static int EndOf(pid_t pid) {
    int status = -1;
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    return status;
  }
  static void Kill(pid_t pid) {
    kill(pid, SIGKILL);
    EXPECT_EQ(EndOf(pid), SIGKILL);
  }

  // Starts a process that joins, holds `bytes` and stays until it is killed. It holds them when
  // this returns.
  pid_t StartHolding(uint64_t bytes, bool without_locks = false) {
    int ready[2];
    EXPECT_EQ(pipe(ready), 0);
    const pid_t pid = Start([&] {
      EXPECT_TRUE(JoinWith(limits_, without_locks));
      EXPECT_TRUE(Reserve(0, bytes, Kind::kData));
      EXPECT_EQ(write(ready[1], "", 1), 1);
      for (;;) pause();
    });
    char byte;
    EXPECT_EQ(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
    return pid;
  }

  // The region as it is in the file.
  Region& Shown() {
    if (region_ == nullptr) {
      const int file = open(Path().c_str(), O_RDWR | O_CLOEXEC);
      void* const memory = mmap(nullptr, kRegionSize, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
      EXPECT_NE(memory, MAP_FAILED) << Path();
      close(file);
      region_ = static_cast<Region*>(memory);
    }
    return *region_;
  }
  uint64_t ShareOfSlot(uint32_t slot) { return ShareOf(&Shown().accounting, 0, slot) * kUnit; }
  uint64_t SumOfShares() {
    uint64_t sum = 0;
    for (uint32_t slot = 0; slot < kMaxSlots; ++slot) sum += ShareOfSlot(slot);
    return sum;
  }
  uint64_t Total() { return TotalOf(Shown().accounting, 0) * kUnit; }

  std::filesystem::path directory_;
  Limits limits_;

 private:
  Region* region_ = nullptr;
};

}  // namespace tessera::limiter
