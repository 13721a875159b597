// SPDX-License-Identifier: Apache-2.0
#include "mps/sizes.h"

#include <gtest/gtest.h>

namespace tessera::mps {
namespace {

using Config = NvidiaConfig::Mps;
using Texts = std::vector<std::string>;

const std::vector<FoundDevice> kTwo = {
    {.id = "GPU-b", .index = 1, .model = "NVIDIA A100", .memory_mib = 81920, .capability = 80},
    {.id = "GPU-a", .index = 0, .model = "Tesla T4", .memory_mib = 15360, .capability = 75}};

TEST(SizesTest, SharesAreEqualPartsOfEachGpuInItsOrder) {
  EXPECT_EQ(SizesFor(3, {}, kTwo, 2),
            (Sizes{.threads = 33, .gpus = {{"GPU-a", 5120}, {"GPU-b", 27306}}}));
}

TEST(SizesTest, TheConfigurationSaysOtherwise) {
  const Config config{.memory = 4096, .threads = 60};
  EXPECT_EQ(SizesFor(2, config, kTwo, 2),
            (Sizes{.threads = 60, .gpus = {{"GPU-a", 4096}, {"GPU-b", 4096}}}));
}

TEST(SizesTest, OfUnequalSizesTheFirstThatFitsCounts) {
  const Config config{.memory = 1000,
                      .sizes = {{.model = "*T4*", .memory = 2000},
                                {.uuid = "GPU-a", .memory = 3000},
                                {.index = "1", .model = "*T4*", .memory = 4000}}};
  EXPECT_EQ(SizesFor(2, config, kTwo, 2).gpus,
            (std::vector<Sizes::Gpu>{{"GPU-a", 2000}, {"GPU-b", 1000}}));
}

TEST(SizesTest, TheMostClientsDependOnTheGpu) {
  for (const auto& [capability, most] :
       {std::pair(60, 16), std::pair(61, 16), std::pair(70, 48), std::pair(75, 48),
        std::pair(90, 48), std::pair(120, 48)}) {
    EXPECT_EQ(MostClients(capability), most) << capability;
  }
}

TEST(SizesTest, AGpuThatTakesFewerClientsIsRefusedAloneAndTheRestSeesNoOther) {
  std::vector<FoundDevice> found = kTwo;
  found[1].capability = 61;
  const Sizes sizes = SizesFor(20, {}, found, 2);
  EXPECT_EQ(sizes,
            (Sizes{.threads = 5,
                   .gpus = {{"GPU-b", 4096}},
                   .all_of_node = false,
                   .refused = {{"GPU-a",
                                "MPS serves at most 16 clients on a GPU of compute capability 6.1, "
                                "and 'replicas' is 20"}}}));
  EXPECT_EQ(VisibleDevices(sizes), "GPU-b");
}

TEST(SizesTest, AMigDeviceIsRefused) {
  EXPECT_EQ(
      SizesFor(2, {}, std::vector<FoundDevice>{{.id = "MIG-a", .capability = 80, .is_mig = true}},
               1),
      (Sizes{.threads = 50,
             .all_of_node = false,
             .refused = {{"MIG-a", "MPS shares whole GPUs, and this is a MIG device"}}}));
}

TEST(SizesTest, TheDaemonIsToldOfEachGpuByItsPlaceThenOfThreads) {
  const Sizes sizes{.threads = 25, .gpus = {{"GPU-a", 2048}, {"GPU-b", 0}, {"GPU-c", 4096}}};
  EXPECT_EQ(Commands(sizes), (Texts{"set_default_device_pinned_mem_limit 0 2048M",
                                    "set_default_device_pinned_mem_limit 2 4096M",
                                    "set_default_active_thread_percentage 25"}));
  EXPECT_EQ(VisibleDevices(sizes), "");
}

TEST(SizesTest, ADaemonAgreesWhenItWasToldNothingElseOfTheGpusThatAreThere) {
  const Sizes sizes{.threads = 25, .gpus = {{"GPU-a", 2048}, {"GPU-b", 1024}}};
  EXPECT_TRUE(Agree(25, {{"GPU-a", 2048}, {"GPU-b", 1024}}, sizes));
  EXPECT_TRUE(Agree(25, {{"GPU-a", 2048}, {"GPU-gone", 7}}, sizes));
  EXPECT_FALSE(Agree(25, {{"GPU-a", 2048}, {"GPU-b", 1}}, sizes));
  EXPECT_FALSE(Agree(50, {{"GPU-a", 2048}}, sizes));
  EXPECT_FALSE(Agree(25, {}, sizes));
}

TEST(SizesTest, ADaemonThatHasAnotherResourcesGpuDoesNotAgree) {
  const Sizes sizes{.threads = 25, .gpus = {{"GPU-a", 2048}}, .elsewhere = {"GPU-b"}};
  EXPECT_FALSE(Agree(25, {{"GPU-a", 2048}, {"GPU-b", 2048}}, sizes));
}

}  // namespace
}  // namespace tessera::mps
