// SPDX-License-Identifier: Apache-2.0
#include "os/memory.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <string>

// Symbols of the linker: where the program begins and where its code ends.
extern "C" const char __executable_start;  // NOLINT(bugprone-reserved-identifier)
extern "C" const char etext;

namespace tessera::os {
namespace {

// Resident pages of mapped files; 0 if the kernel does not tell.
long ResidentFilePages() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("RssFile:")) return std::stol(line.substr(8)) * 1024 / getpagesize();
  }
  return 0;
}

// Written at the start, next to data that the loader wrote.
const std::string* const kWritten = new std::string("written");

// Reads the whole program into memory, also pages that were given back. These bytes belong to no
// variable, so no sanitizer can judge the reads.
__attribute__((no_sanitize("address", "undefined"))) void ReadProgram() {
  for (const char* at = &__executable_start; at < &etext; at += getpagesize()) {
    (void)*static_cast<const volatile char*>(at);
  }
}

TEST(MemoryTest, WhatWasMappedAndNotWrittenToIsGivenBackAndComesAgainWhenUsed) {
  ReadProgram();
  const long before = ResidentFilePages();
  if (before == 0) GTEST_SKIP() << "this kernel does not tell which memory is of files";

  ForgetUnwrittenPages();

  EXPECT_LT(ResidentFilePages(), before);
  EXPECT_EQ(*kWritten, "written");
}

}  // namespace
}  // namespace tessera::os
