// SPDX-License-Identifier: Apache-2.0
#include "os/memory.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <string>

namespace tessera::os {
namespace {

// Pages of mapped files that are in memory; 0 where the kernel does not say.
long ResidentFilePages() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("RssFile:")) return std::stol(line.substr(8)) * 1024 / getpagesize();
  }
  return 0;
}

// Written at the start, where the loader wrote as well.
const std::string* const kWritten = new std::string("written");

TEST(MemoryTest, WhatWasMappedAndNotWrittenToIsGivenBackAndComesAgainWhenUsed) {
  const long before = ResidentFilePages();
  if (before == 0) GTEST_SKIP() << "this kernel does not tell which memory is of files";

  ForgetUnwrittenPages();

  EXPECT_LT(ResidentFilePages(), before / 2);
  EXPECT_EQ(*kWritten, "written");
}

}  // namespace
}  // namespace tessera::os
