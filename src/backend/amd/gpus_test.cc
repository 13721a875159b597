// SPDX-License-Identifier: Apache-2.0
#include "backend/amd/gpus.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "amd/node.h"
#include "backend/amd/node_test.h"

namespace tessera::amd {
namespace {

class GpusTest : public NodeTest {
 protected:
  std::vector<Gpu> Read() const {
    auto gpus = ReadGpus(root_);
    EXPECT_TRUE(gpus) << gpus.error().Text();
    return gpus ? gpus->gpus : std::vector<Gpu>();
  }
  static size_t Parts(const std::vector<Gpu>& gpus) {
    return std::accumulate(gpus.begin(), gpus.end(), size_t{0},
                           [](size_t sum, const Gpu& gpu) { return sum + gpu.parts.size(); });
  }
};

TEST_F(GpusTest, AGpuIsReadWithWhatItsFilesSay) {
  AmdNode node(directory_, Mi300x());
  const std::vector<Gpu> gpus = Read();
  ASSERT_EQ(gpus.size(), 8U);
  const Gpu& gpu = gpus[0];
  EXPECT_EQ(gpu.address, "0000:05:00.0");
  EXPECT_EQ(gpu.device_id, "74a1");
  EXPECT_EQ(gpu.product, "AMD Instinct MI300X OAM");
  EXPECT_EQ(gpu.unique_id, 0xe3aa140f9a5f9e31U);
  EXPECT_EQ(gpu.numa, 0);
  EXPECT_EQ(gpu.Profile(), "spx_nps1");
  EXPECT_TRUE(gpu.IsWhole());
  ASSERT_EQ(gpu.parts.size(), 1U);
  const Part& part = gpu.parts[0];
  EXPECT_EQ(part.card, 1);
  EXPECT_EQ(part.kfd.render, 128);
  EXPECT_EQ(part.kfd.cus(), 304U);
  EXPECT_EQ(part.kfd.memory, 206'141'652'992U);
  EXPECT_EQ(GfxName(part.kfd.gfx_version), "gfx942");
  EXPECT_EQ(gpus[7].numa, 1);
}

TEST_F(GpusTest, InCpx63PartsAreFoundWithTheirOwnNodes) {
  AmdNode node(directory_, Mi300xCpx());
  const std::vector<Gpu> gpus = Read();
  EXPECT_EQ(gpus.size(), 8U);
  EXPECT_EQ(Parts(gpus), 63U);
  EXPECT_EQ(gpus[7].parts.size(), 7U);
  const Part& part = gpus[1].parts[3];
  EXPECT_EQ(part.number, 3U);
  EXPECT_EQ(part.index, 11U);
  EXPECT_EQ(part.kfd.render, 139);
  EXPECT_EQ(part.card, 12);
  EXPECT_EQ(part.kfd.cus(), 38U);
  EXPECT_EQ(gpus[1].Profile(), "cpx_nps1");
  EXPECT_FALSE(gpus[1].HasMemoryPerPart());
}

TEST_F(GpusTest, PartsOfADriverThatNamesThemWithADotAreFound) {
  SimNode hardware = Mi300xCpx();
  hardware.xcp_separator = '.';
  AmdNode node(directory_, hardware);
  const std::vector<Gpu> gpus = Read();
  EXPECT_EQ(Parts(gpus), 63U);
  EXPECT_EQ(gpus[1].parts[3].card, 12);
}

TEST_F(GpusTest, PartsHaveMemoryOfTheirOwnWhereEachHasADomain) {
  {
    AmdNode node(directory_, Mi300xCpx());
    node.SetMemoryMode("NPS4");
    const std::vector<Gpu> gpus = Read();
    EXPECT_EQ(gpus[0].Profile(), "cpx_nps4");
    EXPECT_EQ(gpus[0].parts.size(), 8U);
    EXPECT_FALSE(gpus[0].HasMemoryPerPart());  // two parts share a domain
    EXPECT_EQ(gpus[0].parts[7].kfd.memory, 206'141'652'992U / 8);
  }
  Renew();
  AmdNode node(directory_, Mi308xCpx());
  EXPECT_FALSE(Read()[0].HasMemoryPerPart());
  node.SetMemoryMode("NPS4");
  const std::vector<Gpu> gpus = Read();
  EXPECT_EQ(gpus[0].Profile(), "cpx_nps4");
  EXPECT_EQ(gpus[0].parts.size(), 4U);
  EXPECT_TRUE(gpus[0].HasMemoryPerPart());
}

TEST_F(GpusTest, GpusOfTwoPciDomainsAreToldApart) {
  AmdNode node(directory_, Mi308xCpx());
  const std::vector<Gpu> gpus = Read();
  EXPECT_EQ(gpus.size(), 8U);
  EXPECT_EQ(Parts(gpus), 32U);
  EXPECT_EQ(gpus[0].address.substr(4), gpus[4].address.substr(4));
  for (const Gpu& gpu : gpus) EXPECT_EQ(gpu.parts.size(), 4U) << gpu.address;
}

TEST_F(GpusTest, GpusWithoutPartitionsAndOldKernelsAreServed) {
  {
    AmdNode node(directory_, Mi210());
    const std::vector<Gpu> gpus = Read();
    EXPECT_EQ(Parts(gpus), 8U);
    EXPECT_EQ(gpus[0].Profile(), "gpu");
    EXPECT_EQ(gpus[0].parts[0].kfd.cus(), 104U);
  }
  Renew();
  {
    AmdNode node(directory_, Vega());
    const std::vector<Gpu> gpus = Read();
    ASSERT_EQ(Parts(gpus), 1U);
    EXPECT_EQ(gpus[0].address, "0000:19:00.0");
    EXPECT_EQ(gpus[0].unique_id, 14'073'402'507'705'256'557U);
    EXPECT_EQ(gpus[0].parts[0].kfd.memory, 17'163'091'968U);
  }
  Renew();
  AmdNode node(directory_, Apu());
  const std::vector<Gpu> gpus = Read();
  ASSERT_EQ(Parts(gpus), 1U);
  EXPECT_EQ(gpus[0].numa, std::nullopt);
  EXPECT_EQ(gpus[0].unique_id, 0U);
}

TEST_F(GpusTest, AGpuOfAnotherDriverIsNoneOfTheNodes) {
  AmdNode node(directory_, Mi300x());
  node.SetDriver(2, "vfio-pci");
  const std::vector<Gpu> gpus = Read();
  EXPECT_EQ(gpus.size(), 7U);
  EXPECT_EQ(std::ranges::count(gpus, "0000:47:00.0", &Gpu::address), 0);
}

TEST_F(GpusTest, WithoutTheDriverNothingIsReadAndTheBusSaysWhetherItIsMissed) {
  AmdNode node(directory_, Mi300x());
  EXPECT_FALSE(HasNoGpu(root_));
  node.RemoveDriver();
  EXPECT_EQ(ReadGpus(root_).error(),
            (Error{Reason::kDriverMissing, "the driver amdgpu is not loaded"}));
  EXPECT_FALSE(HasNoGpu(root_));
  for (size_t gpu = 0; gpu < 8; ++gpu) node.Unplug(gpu);
  EXPECT_TRUE(HasNoGpu(root_));
}

TEST_F(GpusTest, ADeniedNodeIsNamedAsSuch) {
  AmdNode node(directory_, Mi300x());
  Write("/sys/class/kfd/kfd/topology/nodes/3/properties", "");
  const std::vector<Gpu> gpus = Read();
  EXPECT_EQ(gpus[1].trouble,
            (Error{Reason::kUnreadable,
                   "0000:27:00.0: the kernel hides GPUs from the agent: make its container "
                   "privileged, or allow it all devices of /dev/dri"}));
  EXPECT_EQ(gpus[2].trouble, std::nullopt);
}

TEST(NamesTest, TheUuidIsAmdSmis) {
  EXPECT_EQ(SmiUuid(0x8e1bb56457addd1b, "74b5"), "8eff74b5-0000-1000-801b-b56457addd1b");
  EXPECT_EQ(SmiUuid(0, "74a1"), "00ff74a1-0000-1000-8000-000000000000");
  EXPECT_EQ(RocmName(0xe3aa140f9a5f9e31), "GPU-e3aa140f9a5f9e31");
}

}  // namespace
}  // namespace tessera::amd
