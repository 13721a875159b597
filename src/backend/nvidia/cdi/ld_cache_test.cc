// SPDX-License-Identifier: Apache-2.0
#include "backend/nvidia/cdi/ld_cache.h"

#include <gtest/gtest.h>

#include "nvml/ld_cache.h"

namespace tessera::nvidia {
namespace {

const std::vector<CacheEntry> kEntries = {
    {"libcuda.so.1", "/usr/lib/x86_64-linux-gnu/libcuda.so.1"},
    {"libcuda.so.1", "/usr/lib/i386-linux-gnu/libcuda.so.1", 0x0003},
    {"libm.so.6", "/lib/aarch64-linux-gnu/libm.so.6", 0x0a03},
    {"old", "/lib/old", 0x0301},
    {"libcuda.so.1", "/usr/lib/x86_64-linux-gnu/libcuda.so.1"}};
const std::vector<CachedLibrary> kLibraries = {
    {"libcuda.so.1", "/usr/lib/x86_64-linux-gnu/libcuda.so.1"},
    {"libm.so.6", "/lib/aarch64-linux-gnu/libm.so.6"}};

TEST(LdCache, Has64BitLibrariesOnce) {
  EXPECT_EQ(ReadLdCache(MakeLdCache(kEntries)), kLibraries);
}

TEST(LdCache, MayStandBehindTheOlderFormat) {
  EXPECT_EQ(ReadLdCache(MakeLdCache(kEntries, true)), kLibraries);
}

TEST(LdCache, WhatIsNoneHasNothing) {
  for (const char* text : {"", "glibc", "glibc-ld.so.cache1.1", "ld.so-1.7.0"}) {
    EXPECT_EQ(ReadLdCache(text), std::vector<CachedLibrary>{}) << text;
  }
}

TEST(LdCache, OneThatIsCutShortHasWhatIsWhole) {
  const std::string whole = MakeLdCache(kEntries);
  for (size_t size = 0; size < whole.size(); ++size) {
    for (const CachedLibrary& library : ReadLdCache(std::string_view(whole).substr(0, size))) {
      EXPECT_EQ(std::count(kLibraries.begin(), kLibraries.end(), library), 1) << size;
    }
  }
}

TEST(LdCache, PlacesOutsideTheTextAreLeftOut) {
  std::string text = MakeLdCache(kEntries);
  text.replace(48 + 8, 4, "\xff\xff\xff\x7f");
  EXPECT_EQ(ReadLdCache(text), (std::vector{kLibraries[1], kLibraries[0]}));  // its repetition
  text.replace(48 + 4 * 24 + 4, 4, "\xff\xff\xff\xff");
  EXPECT_EQ(ReadLdCache(text), (std::vector<CachedLibrary>{kLibraries[1]}));
}

}  // namespace
}  // namespace tessera::nvidia
