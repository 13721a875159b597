// SPDX-License-Identifier: Apache-2.0
#include "hami/pod_devices.h"

#include <gtest/gtest.h>

#include <random>

namespace tessera::hami {
namespace {

const PodDevice kA = {"GPU-a", "NVIDIA", 3000, 50};
const PodDevice kB = {"GPU-b", "NVIDIA", 4000, 60};

using Entries = std::vector<Entry>;

std::string PodDevicesError(std::string_view text) {
  const auto entries = DecodePodDevices(text);
  return entries ? "" : entries.error().message;
}

TEST(PodDevices, AreWrittenAndReadAsHamiWritesThem) {
  const PodDevice a = {"GPU-a", "NVIDIA", 3000, 30};
  const PodDevice b = {"GPU-b", "NVIDIA", 3000, 30};
  const PodDevice all = {"GPU-a", "NVIDIA", 3000, 0};
  const std::vector<std::pair<std::string, Entries>> examples = {
      {"GPU-a,NVIDIA,3000,30:;", {{a}}},
      {"GPU-a,NVIDIA,3000,30:GPU-b,NVIDIA,3000,30:;", {{a, b}}},
      {"GPU-a,NVIDIA,3000,50:;GPU-b,NVIDIA,4000,60:;", {{kA}, {kB}}},
      {";GPU-a,NVIDIA,3000,0:;", {{}, {all}}},
      {"GPU-a,NVIDIA,3000,0:;", {{all}}},
      {"GPU-a,NVIDIA,3000,0:;GPU-a,NVIDIA,3000,0:;", {{all}, {all}}},
      {";GPU-b,NVIDIA,4000,60:;;", {{}, {kB}, {}}},
      {";;;;", {{}, {}, {}, {}}},
      {"", {}}};
  for (const auto& [text, entries] : examples) {
    EXPECT_EQ(EncodePodDevices(entries), text);
    EXPECT_EQ(DecodePodDevices(text), entries) << text;
  }
}

TEST(PodDevices, TheLastSemicolonMayBeMissing) {
  EXPECT_EQ(DecodePodDevices("GPU-a,NVIDIA,3000,50:"), Entries{{kA}});
  EXPECT_EQ(DecodePodDevices("GPU-a,NVIDIA,3000,50"), Entries{{kA}});
  EXPECT_EQ(DecodePodDevices(";GPU-a,NVIDIA,3000,50:"), (Entries{{}, {kA}}));
}

TEST(PodDevices, TooManySemicolonsAreEmptyEntries) {
  EXPECT_EQ(DecodePodDevices(";;GPU-a,NVIDIA,3000,50:;;"), (Entries{{}, {}, {kA}, {}}));
}

TEST(PodDevices, ADeviceWithoutAUuidIsNone) {
  EXPECT_EQ(DecodePodDevices(",,0,0:;GPU-a,NVIDIA,3000,50:;"), (Entries{{}, {kA}}));
}

TEST(PodDevices, FurtherFieldsArePassedOver) {
  EXPECT_EQ(DecodePodDevices("GPU-a,NVIDIA,3000,50,7,x:;"), Entries{{kA}});
}

TEST(PodDevices, WhatHasNoCommaIsPassedOver) {
  EXPECT_EQ(DecodePodDevices("x::GPU-a,NVIDIA,3000,50::;y;"), (Entries{{kA}, {}}));
}

TEST(PodDevices, BadOnesAreRefusedWithWhatIsWrong) {
  EXPECT_EQ(PodDevicesError("GPU-a,NVIDIA,3000:;"),
            "a pod's devices: device GPU-a,NVIDIA,3000: it has 3 fields, not 4");
  EXPECT_EQ(PodDevicesError("GPU-a,NVIDIA,3000m,50:;"),
            "a pod's devices: device GPU-a,NVIDIA,3000m,50: its memory is 3000m, not a number");
  EXPECT_EQ(PodDevicesError("GPU-a,NVIDIA,3000,:;"),
            R"(a pod's devices: device GPU-a,NVIDIA,3000,: its cores is "", not a number)");
  EXPECT_EQ(PodDevicesError(";GPU-a,NVIDIA,2147483648,50:;"),
            "a pod's devices: device GPU-a,NVIDIA,2147483648,50: its memory is 2147483648, not a "
            "number");
}

TEST(PodDevices, WhateverIsWrittenIsReadBack) {
  std::mt19937 random(3);
  for (int round = 0; round < 5'000; ++round) {
    Entries entries(random() % 5);
    for (Entry& entry : entries) {
      for (auto left = random() % 4; left > 0; --left) {
        entry.push_back({"GPU-" + std::to_string(random()), random() % 2 == 0 ? "" : "NVIDIA",
                         static_cast<int32_t>(random()), static_cast<int32_t>(random())});
      }
    }
    ASSERT_EQ(DecodePodDevices(EncodePodDevices(entries)), entries);
  }
}

TEST(Consume, LeavesWhatHamiLeaves) {
  const auto once = Consume("GPU-a,NVIDIA,3000,50:;GPU-b,NVIDIA,4000,60:;", {kA});
  EXPECT_EQ(once, ";GPU-b,NVIDIA,4000,60:;;");
  EXPECT_EQ(Consume(*once, {kB}), ";;;;");
}

TEST(Consume, ASchedulerMayWriteTheModelInPlaceOfTheWord) {
  const std::string text = "e3ff74a1,AMD Instinct MI300X VF,49152,76:;";
  const Entry entry = {{.uuid = "e3ff74a1", .type = "AMD", .memory = 49152, .cores = 76}};
  EXPECT_EQ(Consume(text, entry), ";;");
  EXPECT_EQ(ConsumeGiven(text, text, std::vector<Entry>{entry}).value(), ";;");
}

TEST(Consume, TakesTheEntryWhereverItStands) {
  EXPECT_EQ(Consume("GPU-a,NVIDIA,3000,50:;GPU-b,NVIDIA,4000,60:;", {kB}),
            "GPU-a,NVIDIA,3000,50:;;;");
}

TEST(Consume, OfTwoAlikeTakesTheFirst) {
  EXPECT_EQ(Consume("GPU-a,NVIDIA,3000,50:;;GPU-a,NVIDIA,3000,50:;", {kA}),
            ";;GPU-a,NVIDIA,3000,50:;;");
}

TEST(Consume, TakesNoPartOfAnEntry) {
  const auto rest = Consume("GPU-a,NVIDIA,3000,50:GPU-b,NVIDIA,4000,60:;", {kA});
  ASSERT_FALSE(rest);
  EXPECT_EQ(rest.error().message,
            R"("GPU-a,NVIDIA,3000,50:;" is not in the list of devices to grant: )"
            R"("GPU-a,NVIDIA,3000,50:GPU-b,NVIDIA,4000,60:;")");
}

TEST(Consume, TakesNothingTwice) {
  EXPECT_FALSE(Consume(";;", {kA}));
  EXPECT_FALSE(Consume(";;", {}));
}

TEST(Consume, LeavesTheOthersOfARandomPodAsTheyWere) {
  std::mt19937 random(4);
  for (int round = 0; round < 2'000; ++round) {
    Entries entries(1 + random() % 5);
    for (size_t i = 0; i < entries.size(); ++i) {
      if (random() % 3 > 0) entries[i] = {{"GPU-" + std::to_string(i), "NVIDIA", 1, 0}};
    }
    const size_t chosen = random() % entries.size();
    const auto rest = Consume(EncodePodDevices(entries), entries[chosen]);
    ASSERT_EQ(rest.has_value(), !entries[chosen].empty());
    if (!rest) continue;
    entries[chosen].clear();
    ASSERT_EQ(*rest, EncodePodDevices(entries) + ";");
  }
}

TEST(ConsumeGiven, LeavesWhatIsNotGivenYetHoweverOftenItIsSaid) {
  const std::string allocated = "a,NVIDIA,1,2:;a,NVIDIA,1,2:;b,NVIDIA,3,4:;";
  const Entry a = {{"a", "NVIDIA", 1, 2}};
  const Entry b = {{"b", "NVIDIA", 3, 4}};

  const std::string once = ConsumeGiven(allocated, allocated, std::vector<Entry>{a}).value();
  EXPECT_EQ(once, ";a,NVIDIA,1,2:;b,NVIDIA,3,4:;;");
  EXPECT_EQ(ConsumeGiven(once, allocated, std::vector<Entry>{a}).value(), once);
  EXPECT_EQ(ConsumeGiven(once, allocated, std::vector<Entry>{a, b, a}).value(), ";;;;;");
  EXPECT_EQ(ConsumeGiven(allocated, allocated, std::vector<Entry>{b, a, a, Entry()}).value(),
            ";;;;");
}

TEST(ConsumeGiven, WhatWasNeverAllocatedIsNeitherConsumedNorAnError) {
  const Entry x = {{"x", "NVIDIA", 1, 2}};

  EXPECT_EQ(ConsumeGiven("", "a,NVIDIA,1,2:;", std::vector<Entry>{x}).value(), "");
  EXPECT_EQ(ConsumeGiven("a,NVIDIA,1,2:;", "", std::vector<Entry>{x, x}).value(), "a,NVIDIA,1,2:;");
  EXPECT_FALSE(ConsumeGiven("a,b:", "", {}));
  EXPECT_FALSE(ConsumeGiven("", "a,b:", {}));
}

TEST(EntriesLeft, AreThoseWithDevices) {
  EXPECT_EQ(EntriesLeft("").value(), 0U);
  EXPECT_EQ(EntriesLeft(";;;").value(), 0U);
  EXPECT_EQ(EntriesLeft(";a,NVIDIA,1,2:b,NVIDIA,1,2:;a,NVIDIA,1,2:;;").value(), 2U);
}

}  // namespace
}  // namespace tessera::hami
