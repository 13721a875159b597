// SPDX-License-Identifier: Apache-2.0
#include "cli/room_view.h"

#include <gtest/gtest.h>

namespace tessera::cli {
namespace {

std::string Text(const char* devices, const View& view = {.columns = kMostColumns}) {
  return RoomText(json::Object{{"devices", json::Parse(devices).value()}}, view);
}

constexpr const char* kVirtual = R"([
  {"source": "nvidia.com/gpu", "id": "GPU-8a1f1d3c-5f0e-4a1b-9c55-0d2f6b1e7a42",
   "shares": ["a", "b", "c", "d"], "memoryBytes": 85899345920,
   "vgpu": {"memoryBytes": 85899345920, "memoryGrantedBytes": 12884901888, "cores": 100,
            "coresGranted": 30},
   "holders": [
     {"namespace": "default", "pod": "train-0", "container": "main", "shares": ["a"],
      "part": {"device": "GPU-8a1f1d3c-5f0e-4a1b-9c55-0d2f6b1e7a42", "memoryBytes": 4294967296,
               "cores": 30}},
     {"namespace": "", "pod": "", "uid": "2f1c1d3c-5f0e-4a1b-9c55-0d2f6b1e7a42",
      "container": "init", "shares": ["b", "c"],
      "part": {"device": "GPU-8a1f1d3c-5f0e-4a1b-9c55-0d2f6b1e7a42", "memoryBytes": 8589934592,
               "cores": 0}}]}])";

TEST(RoomText, EachHoldersPartOfAVirtualGpuStandsBelowWhatThereIsOfIt) {
  EXPECT_EQ(
      Text(kVirtual),
      R"(WHO HAS WHAT                  SHARES     MEMORY    GRANTED       FREE   TIME  GRANTED  FREE
nvidia.com/gpu/GPU-8a1f1d3c…     3/4  81920 MiB  12288 MiB  69632 MiB  100 %     30 %  70 %
  default/train-0/main             1              4096 MiB                       30 %
  pod 2f1c1d3c…/init               2              8192 MiB                        all
)");
}

TEST(RoomText, WhatAHolderUsesStandsBesideItsPart) {
  EXPECT_EQ(
      Text(R"([
    {"source": "nvidia.com/gpu", "id": "GPU-1", "shares": ["a", "b"], "memoryBytes": 2147483648,
     "vgpu": {"memoryBytes": 2147483648, "memoryGrantedBytes": 1073741824, "cores": 100,
              "coresGranted": 30},
     "holders": [{"namespace": "a", "pod": "b", "container": "c", "shares": ["a"],
                  "usedBytes": 536870912, "coresGot": 12.25,
                  "part": {"device": "GPU-1", "memoryBytes": 1073741824, "cores": 30}}]}])"),
      R"(WHO HAS WHAT          SHARES    MEMORY   GRANTED     USED      FREE   TIME  GRANTED     GOT  FREE
nvidia.com/gpu/GPU-1     1/2  2048 MiB  1024 MiB           1024 MiB  100 %     30 %          70 %
  a/b/c                    1            1024 MiB  512 MiB                      30 %  12.2 %
)");
}

TEST(RoomText, OfAnyWidthNamesAreWhole) {
  EXPECT_NE(Text(kVirtual, {}).find("nvidia.com/gpu/GPU-8a1f1d3c-5f0e-4a1b-9c55-0d2f6b1e7a42 "),
            std::string::npos);
}

TEST(RoomText, AWholeGpuIsItsHolders) {
  EXPECT_EQ(Text(R"([
    {"source": "nvidia.com/gpu", "id": "GPU-1", "shares": ["GPU-1"], "memoryBytes": 1073741824,
     "holders": [{"namespace": "a", "pod": "b", "container": "c", "shares": ["GPU-1"]}]},
    {"source": "nvidia.com/gpu", "id": "GPU-2", "shares": ["GPU-2"], "memoryBytes": 1073741824,
     "holders": []}])"),
            R"(WHO HAS WHAT          SHARES    MEMORY   GRANTED      FREE   TIME  GRANTED   FREE
nvidia.com/gpu/GPU-1     1/1  1024 MiB  1024 MiB     0 MiB  100 %    100 %    0 %
  a/b/c                    1
nvidia.com/gpu/GPU-2     0/1  1024 MiB     0 MiB  1024 MiB  100 %      0 %  100 %
)");
}

TEST(RoomText, OfSharesThatTakeTurnsNobodyCountsMemory) {
  EXPECT_EQ(Text(R"([
    {"source": "nvidia.com/gpu", "id": "GPU-1", "shares": ["1", "2"], "memoryBytes": 1073741824,
     "holders": [{"namespace": "a", "pod": "b", "container": "c", "shares": ["1"]}]}])"),
            R"(WHO HAS WHAT          SHARES    MEMORY
nvidia.com/gpu/GPU-1     1/2  1024 MiB
  a/b/c                    1
)");
}

TEST(RoomText, DevicesWithoutMemoryAreLeftOut) {
  EXPECT_EQ(Text(R"([{"source": "dummy.com/npu", "id": "0", "shares": ["0"], "holders": []}])"),
            "");
}

TEST(CoresText, UnitsAreCountedAndTimeIsInPercent) {
  EXPECT_EQ(CoresText({{"cores", 76}, {"units", "0-75"}}), "76 units");
  EXPECT_EQ(CoresText({{"cores", 30}}), "30 %");
  EXPECT_EQ(CoresText({{"cores", 0}}), "all");
}

}  // namespace
}  // namespace tessera::cli
