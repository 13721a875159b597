// SPDX-License-Identifier: Apache-2.0
#include "amd/node.h"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <set>
#include <sstream>

#include "amd/events.h"
#include "os/files.h"

namespace tessera::amd {
namespace {

constexpr char kAmdgpu[] = "/sys/bus/pci/drivers/amdgpu";
constexpr char kTopology[] = "/sys/class/kfd/kfd/topology";

using Properties = std::map<std::string, uint64_t>;

class AmdNodeTest : public testing::Test {
 protected:
  ~AmdNodeTest() override { EXPECT_TRUE(os::RemoveTree(directory_)); }

  // A file's text without its last line end; "-" if there is no such file.
  std::string Text(const std::string& path) const {
    std::string text = os::ReadFile(directory_ + path).value_or("-");
    if (text.ends_with('\n')) text.pop_back();
    return text;
  }
  std::vector<std::string> List(const std::string& path, const std::string& prefix = "") const {
    std::vector<std::string> names =
        os::ListDirectory(directory_ + path).value_or(std::vector<std::string>());
    std::erase_if(names, [&](const std::string& name) { return !name.starts_with(prefix); });
    return names;
  }
  bool Exists(const std::string& path) const { return os::Exists(directory_ + path); }
  std::string Gpu(const std::string& address, const std::string& file) const {
    return Text("/sys/bus/pci/devices/" + address + "/" + file);
  }
  Properties Read(const std::string& path) const {
    std::istringstream lines(Text(path));
    Properties properties;
    std::string name;
    for (uint64_t value = 0; lines >> name >> value;) properties[name] = value;
    return properties;
  }
  Properties Kfd(size_t node, const std::string& of = "") const {
    return Read(fmt::format("{}/nodes/{}/{}properties", kTopology, node, of));
  }
  // How many links of each type and weight there are, and their largest bandwidth.
  std::map<std::string, int> Links(size_t node, const std::string& kind = "io_links") const {
    std::map<std::string, int> count;
    for (const std::string& link : List(fmt::format("{}/nodes/{}/{}", kTopology, node, kind))) {
      Properties is = Kfd(node, fmt::format("{}/{}/", kind, link));
      EXPECT_EQ(is["node_from"], node);
      ++count[fmt::format("{} {} {}", is["type"], is["weight"], is["max_bandwidth"])];
    }
    return count;
  }
  uint64_t Generation() const {
    return std::stoull(Text(std::string(kTopology) + "/generation_id"));
  }
  std::vector<std::string> Nodes() const { return List(std::string(kTopology) + "/nodes"); }
  std::set<uint64_t> RenderMinorsInKfd() const {
    std::set<uint64_t> minors;
    for (const std::string& node : Nodes()) {
      const uint64_t minor = Kfd(std::stoul(node))["drm_render_minor"];
      if (minor != 0) minors.insert(minor);
    }
    return minors;
  }
  // amd_tree's exit status.
  int AmdTree(const std::string& arguments) const {
    const std::string command =
        fmt::format("{} {} {} 2>{}/errors", TESSERA_AMD_TREE, directory_, arguments, directory_);
    return WEXITSTATUS(std::system(command.c_str()));  // NOLINT(concurrency-mt-unsafe)
  }

  // ext4 takes seconds for thousands of files where as many were removed in the last minutes.
  const std::string memory_ = os::Exists("/dev/shm") ? "/dev/shm" : "/tmp";
  const std::string directory_ = os::MakeTemporaryDirectory(memory_ + "/amd_node_test").value();
};

TEST_F(AmdNodeTest, AMi300xHasEightWholeGpus) {
  const AmdNode node(directory_, Mi300x());

  EXPECT_EQ(List(kAmdgpu, "0000:").size(), 8U);
  EXPECT_EQ(Nodes().size(), 10U);
  EXPECT_EQ(Gpu("0000:27:00.0", "unique_id"), "2250f807caf2231a");
  EXPECT_EQ(Gpu("0000:85:00.0", "numa_node"), "1");
  EXPECT_EQ(Gpu("0000:85:00.0", "local_cpulist"), "48-95,144-191");
  EXPECT_EQ(Gpu("0000:05:00.0", "available_compute_partition"), "SPX, DPX, QPX, CPX");
  EXPECT_EQ(Gpu("0000:05:00.0", "ras/umc_err_count"), "ue: 0\nce: 0\nde: 0");
  EXPECT_EQ(Gpu("0000:05:00.0", "hwmon/hwmon3/temp2_input"), "41000");
  EXPECT_EQ(Gpu("0000:e5:00.0", "drm/renderD184/dev"), "226:184");
  EXPECT_EQ(Text("/sys/module/amdgpu/drivers/pci:amdgpu/0000:e5:00.0/device"), "0x74a1");
  EXPECT_EQ(os::ReadLink(directory_ + kAmdgpu + "/0000:05:00.0").value_or(""),
            "../../../../devices/pci0000:00/0000:00:01.1/0000:01:00.0/0000:02:00.0/0000:05:00.0");
}

TEST_F(AmdNodeTest, AWholeGpuHasTheSumsOfItsPartitions) {
  const AmdNode node(directory_, Mi300x());

  Properties gpu = Kfd(5);
  EXPECT_EQ(gpu["simd_count"], 1216U);
  EXPECT_EQ(gpu["array_count"], 32U);
  EXPECT_EQ(gpu["num_xcc"], 8U);
  EXPECT_EQ(gpu["num_sdma_engines"], 2U);
  EXPECT_EQ(gpu["num_sdma_xgmi_engines"], 14U);
  EXPECT_EQ(gpu["location_id"], 25856U);
  EXPECT_EQ(gpu["unique_id"], 12035684874187068538U);
  EXPECT_EQ(gpu["io_links_count"], 8U);
  EXPECT_EQ(gpu["p2p_links_count"], 1U);
  EXPECT_EQ(Text(std::string(kTopology) + "/nodes/5/gpu_id"), "8642");
  EXPECT_EQ(Kfd(5, "mem_banks/0/")["size_in_bytes"], 206141652992U);
  EXPECT_EQ(Links(5), (std::map<std::string, int>{{"2 20 64000", 1}, {"11 15 64000", 7}}));
}

TEST_F(AmdNodeTest, MostRenderNodesOfWholeGpusAreInvalid) {
  const AmdNode node(directory_, Mi300x());

  EXPECT_EQ(List("/dev/dri", "renderD").size(), 63U);  // the last one does not come up
  EXPECT_EQ(List("/dev/dri", "card").size(), 64U);     // with the BMC's
  EXPECT_EQ(List("/sys/devices/platform").size(), 55U);
  EXPECT_EQ(List("/sys/devices/platform/amdgpu_xcp_7/drm"),
            (std::vector<std::string>{"card10", "renderD137"}));
  EXPECT_EQ(RenderMinorsInKfd(), (std::set<uint64_t>{128, 136, 144, 152, 160, 168, 176, 184}));
  EXPECT_EQ(Gpu("0000:f2:00.0", "vendor"), "0x1a03");
  EXPECT_EQ(Gpu("0000:f2:00.0", "drm/card0/dev"), "226:0");
}

TEST_F(AmdNodeTest, ANodeThatLacksNothingHas64RenderNodes) {
  SimNode all = Mi300xCpx();
  all.lacks.clear();
  const AmdNode node(directory_, all);

  EXPECT_EQ(List("/dev/dri", "renderD").size(), 64U);
  EXPECT_EQ(RenderMinorsInKfd().size(), 64U);
}

TEST_F(AmdNodeTest, CpxHas63Partitions) {
  const AmdNode node(directory_, Mi300xCpx());

  EXPECT_EQ(Nodes().size(), 65U);
  EXPECT_EQ(RenderMinorsInKfd().size(), 63U);
  EXPECT_EQ(Gpu("0000:05:00.0", "current_compute_partition"), "CPX");
  Properties last = Kfd(9);  // of the first GPU
  EXPECT_EQ(last["location_id"], 1287U);
  EXPECT_EQ(last["drm_render_minor"], 135U);
  EXPECT_EQ(last["unique_id"], 16404946649897475633U);
  EXPECT_EQ(Kfd(9, "mem_banks/0/")["size_in_bytes"], 25767706624U);
  EXPECT_EQ(Links(9),
            (std::map<std::string, int>{{"2 20 64000", 1}, {"11 13 819200", 7}, {"11 41 0", 55}}));
  EXPECT_EQ(Kfd(9, "io_links/0/")["node_to"], 0U);
  EXPECT_EQ(Kfd(64, "io_links/0/")["node_to"], 1U);
  for (size_t gpu = 2; gpu < 65; ++gpu) EXPECT_EQ(Kfd(gpu)["io_links_count"], 63U) << gpu;
}

TEST_F(AmdNodeTest, APartitionHasTheLinesOfTheCapture) {
  const AmdNode node(directory_, Mi300xCpx());

  EXPECT_EQ(Text(std::string(kTopology) + "/nodes/2/properties"),
            "cpu_cores_count 0\nsimd_count 152\nmem_banks_count 1\ncaches_count 80\n"
            "io_links_count 63\np2p_links_count 1\ncpu_core_id_base 0\nsimd_id_base 2147488064\n"
            "max_waves_per_simd 8\nlds_size_in_kb 64\ngds_size_in_kb 0\nnum_gws 64\n"
            "wave_front_size 64\narray_count 4\nsimd_arrays_per_engine 1\ncu_per_simd_array 10\n"
            "simd_per_cu 4\nmax_slots_scratch_cu 32\ngfx_target_version 90402\nvendor_id 4098\n"
            "device_id 29857\nlocation_id 1280\ndomain 0\ndrm_render_minor 128\n"
            "hive_id 15188982192727901047\nnum_sdma_engines 2\nnum_sdma_xgmi_engines 0\n"
            "num_sdma_queues_per_engine 8\nnum_cp_queues 24\nmax_engine_clk_fcompute 2100\n"
            "local_mem_size 0\nfw_version 177\ncapability 2893521536\ndebug_prop 1511\n"
            "sdma_fw_version 24\nunique_id 16404946649897475633\nnum_xcc 1\n"
            "max_engine_clk_ccompute 2750");
}

TEST_F(AmdNodeTest, ACpuOfCpxHasTheNumbersOfTheCapture) {
  const AmdNode node(directory_, Mi300xCpx());

  Properties cpu = Kfd(0);
  std::erase_if(cpu, [](const auto& property) { return property.second == 0; });
  EXPECT_EQ(cpu, (Properties{{"cpu_cores_count", 96},
                             {"mem_banks_count", 1},
                             {"io_links_count", 33},
                             {"p2p_links_count", 31},
                             {"max_engine_clk_ccompute", 2750}}));
  EXPECT_EQ(Kfd(1)["io_links_count"], 32U);
  EXPECT_EQ(Text(std::string(kTopology) + "/nodes/0/gpu_id"), "0");
}

TEST_F(AmdNodeTest, Mi210HasTwoHivesAndNoPartitions) {
  const AmdNode node(directory_, Mi210());

  EXPECT_EQ(RenderMinorsInKfd(), (std::set<uint64_t>{128, 129, 130, 131, 132, 133, 134, 135}));
  EXPECT_EQ(List("/dev/dri", "renderD").size(), 8U);
  EXPECT_EQ(Gpu("0000:63:00.0", "current_compute_partition"), "-");
  EXPECT_FALSE(Exists("/sys/devices/platform"));
  Properties gpu = Kfd(6);
  EXPECT_EQ(gpu["location_id"], 58112U);
  EXPECT_EQ(gpu["device_id"], 29711U);
  EXPECT_EQ(gpu["hive_id"], 18091350218769748594U);
  EXPECT_EQ(gpu["num_sdma_xgmi_engines"], 3U);
  EXPECT_EQ(Links(6), (std::map<std::string, int>{{"2 20 64000", 1}, {"11 15 50000", 3}}));
  EXPECT_EQ(Links(6, "p2p_links"), (std::map<std::string, int>{{"2 52 0", 1}, {"2 72 0", 4}}));
}

TEST_F(AmdNodeTest, Mi308xHasTheSameLocationsInTwoDomains) {
  const AmdNode node(directory_, Mi308xCpx());

  EXPECT_EQ(RenderMinorsInKfd().size(), 32U);
  EXPECT_EQ(Kfd(2)["location_id"], 2560U);
  EXPECT_EQ(Kfd(2)["domain"], 0U);
  EXPECT_EQ(Kfd(18)["location_id"], 2560U);
  EXPECT_EQ(Kfd(18)["domain"], 1U);
  EXPECT_EQ(Kfd(18)["drm_render_minor"], 160U);
  EXPECT_EQ(Kfd(33)["location_id"], 51203U);
  EXPECT_EQ(Kfd(33)["simd_count"], 80U);
  EXPECT_EQ(Kfd(33, "mem_banks/0/")["size_in_bytes"], 51539607552U);
  EXPECT_EQ(Gpu("0001:c8:00.0", "device"), "0x74a2");
}

TEST_F(AmdNodeTest, AnOldKernelHasNoDomainHiveVersionAndXcc) {
  const AmdNode node(directory_, Vega());

  Properties gpu = Kfd(2);
  for (const char* name : {"domain", "gfx_target_version", "hive_id", "num_xcc"}) {
    EXPECT_FALSE(gpu.contains(name)) << name;
  }
  EXPECT_EQ(gpu["simd_count"], 256U);
  EXPECT_EQ(gpu["location_id"], 6400U);
  EXPECT_EQ(gpu["drm_render_minor"], 129U);
  EXPECT_EQ(gpu["local_mem_size"], 17163091968U);
  EXPECT_EQ(gpu["unique_id"], 14073402507705256557U);
  EXPECT_EQ(gpu["max_waves_per_simd"], 10U);
  EXPECT_EQ(Text(std::string(kTopology) + "/nodes/2/name"), "vega10");
}

TEST_F(AmdNodeTest, AnApuIsOneNodeWithCoresAndSimds) {
  AmdNode node(directory_, Apu());

  EXPECT_EQ(Nodes().size(), 1U);
  EXPECT_EQ(Kfd(0)["cpu_cores_count"], 16U);
  EXPECT_EQ(Kfd(0)["simd_count"], 24U);
  EXPECT_EQ(Kfd(0)["gfx_target_version"], 110003U);
  EXPECT_EQ(Gpu("0000:c4:00.0", "numa_node"), "-1");
  EXPECT_EQ(Gpu("0000:c4:00.0", "local_cpulist"), "0-15");
  EXPECT_EQ(Gpu("0000:c4:00.0", "unique_id"), "-");
  EXPECT_FALSE(Exists("/sys/bus/pci/devices/0000:c4:00.0/ras"));
  node.Lose(0);
  EXPECT_EQ(Kfd(0)["simd_count"], 0U);
  EXPECT_EQ(Kfd(0)["cpu_cores_count"], 16U);
}

TEST_F(AmdNodeTest, PartitionsComeAsTheLastNodesAndGenerationGrows) {
  AmdNode node(directory_, Mi300x());
  const uint64_t before = Generation();

  node.SetCompute(0, "CPX");

  EXPECT_GT(Generation(), before);
  EXPECT_EQ(node.node().gpus[0].compute, "CPX");
  EXPECT_EQ(Gpu("0000:05:00.0", "current_compute_partition"), "CPX");
  EXPECT_EQ(Nodes().size(), 17U);
  EXPECT_EQ(Kfd(2)["location_id"], 9984U);  // the second GPU
  EXPECT_EQ(Kfd(16)["location_id"], 1287U);
  EXPECT_EQ(Links(16),
            (std::map<std::string, int>{{"2 20 64000", 1}, {"11 13 819200", 7}, {"11 41 0", 7}}));
  node.SetCompute(0, "SPX");
  EXPECT_EQ(Nodes().size(), 10U);
  EXPECT_EQ(Kfd(9)["simd_count"], 1216U);
}

TEST_F(AmdNodeTest, AMemoryModeIsThatOfAllGpus) {
  AmdNode node(directory_, Mi300xCpx());
  const uint64_t before = Generation();

  node.SetMemoryMode("NPS4");

  EXPECT_EQ(Gpu("0000:05:00.0", "current_memory_partition"), "NPS4");
  EXPECT_EQ(Gpu("0000:e5:00.0", "current_memory_partition"), "NPS4");
  EXPECT_GT(Generation(), before);
  EXPECT_EQ(Kfd(2)["mem_banks_count"], 1U);
}

TEST_F(AmdNodeTest, ALostGpuKeepsItsDeviceNodes) {
  AmdNode node(directory_, Mi300x());
  const uint64_t before = Generation();

  node.Lose(3);

  EXPECT_EQ(Gpu("0000:65:00.0", "config").substr(0, 2), "\xff\xff");
  EXPECT_EQ(Gpu("0000:47:00.0", "config").substr(0, 4), "\x02\x10\xa1\x74");
  EXPECT_FALSE(Exists(std::string(kAmdgpu) + "/0000:65:00.0"));
  EXPECT_FALSE(Exists(DevicePath(node.node().gpus[3]) + "/driver"));
  EXPECT_TRUE(Exists("/dev/dri/renderD152"));
  EXPECT_EQ(Nodes().size(), 9U);
  EXPECT_GT(Generation(), before);
  node.Return(3);
  EXPECT_EQ(Kfd(9)["location_id"], 25856U);
  EXPECT_TRUE(Exists(std::string(kAmdgpu) + "/0000:65:00.0"));
}

TEST_F(AmdNodeTest, NothingIsLeftOfAnUnpluggedGpuButItsBridges) {
  AmdNode node(directory_, Mi300x());

  node.Unplug(3);

  EXPECT_FALSE(Exists(DevicePath(node.node().gpus[3])));
  EXPECT_FALSE(Exists("/sys/bus/pci/devices/0000:65:00.0"));
  EXPECT_FALSE(Exists("/dev/dri/renderD152"));
  EXPECT_FALSE(Exists("/sys/devices/platform/amdgpu_xcp_21"));
  EXPECT_TRUE(Exists("/sys/devices/platform/amdgpu_xcp_28"));
  EXPECT_TRUE(Exists("/sys/bus/pci/devices/0000:62:00.0"));
  EXPECT_EQ(Nodes().size(), 9U);
  node.Return(3);
  EXPECT_EQ(Gpu("0000:65:00.0", "unique_id"), "a70757a01276547a");
}

TEST_F(AmdNodeTest, MeasurementsAndErrorsLeaveTheTopologyAlone) {
  AmdNode node(directory_, Mi300x());
  const uint64_t before = Generation();

  node.SetRas(1, "umc", 2, 30);
  node.SetRas(1, "gfx", 1, 0);
  node.SetBusy(1, 97);
  node.SetMemoryUsed(1, 12345);
  node.SetTemperature(1, 88);

  EXPECT_EQ(Gpu("0000:27:00.0", "ras/umc_err_count"), "ue: 2\nce: 30\nde: 0");
  EXPECT_EQ(Gpu("0000:27:00.0", "gpu_busy_percent"), "97");
  EXPECT_EQ(Gpu("0000:27:00.0", "mem_info_vram_used"), "12345");
  EXPECT_EQ(Gpu("0000:27:00.0", "hwmon/hwmon4/temp2_input"), "88000");
  EXPECT_EQ(Generation(), before);
}

TEST_F(AmdNodeTest, AMi300aIsDividedIntoThreeOrSix) {
  AmdNode node(directory_, Mi300a());
  EXPECT_EQ(Nodes().size(), 8U);  // with its CPUs
  EXPECT_EQ(Gpu("0000:01:00.0", "available_compute_partition"), "SPX, TPX, CPX");

  node.SetCompute(0, "TPX");
  node.SetCompute(1, "CPX");

  EXPECT_EQ(Nodes().size(), 4U + 3 + 6 + 2);
  EXPECT_EQ(RenderMinorsInKfd(),
            (std::set<uint64_t>{128, 129, 130, 136, 137, 138, 139, 140, 141, 144, 152}));
}

TEST_F(AmdNodeTest, AResetIsToldByTheStreamsOfAllPartitionsAndHidesHowTheGpuIsDivided) {
  AmdNode node(directory_, Mi300x());
  node.SetCompute(0, "DPX");
  const uint64_t before = Generation();
  const os::Fd first = ListenTo(directory_, 51110);
  const os::Fd second = ListenTo(directory_, 51111);
  const auto read_both = [&] {
    std::array<char, 64> lines{};
    std::string text;
    for (const os::Fd* stream : {&first, &second}) {
      const ssize_t size = read(stream->get(), lines.data(), lines.size());
      text += std::string(lines.data(), static_cast<size_t>(std::max<ssize_t>(size, 0)));
    }
    return text;
  };
  node.SetRas(0, "gfx", 1, 0);

  node.BeginReset(0);

  EXPECT_EQ(read_both(), "3 1\n3 1\n");
  EXPECT_EQ(Gpu("0000:05:00.0", "current_compute_partition"), "");
  EXPECT_EQ(Gpu("0000:05:00.0", "available_compute_partition"), "SPX, DPX, QPX, CPX");
  node.EndReset(0);
  EXPECT_EQ(read_both(), "4 1\n4 1\n");
  EXPECT_EQ(Gpu("0000:05:00.0", "current_compute_partition"), "DPX");
  EXPECT_EQ(Gpu("0000:05:00.0", "ras/gfx_err_count"), "ue: 1\nce: 0\nde: 0");
  EXPECT_EQ(Generation(), before);
  node.TellEvent(0, "2 4:1");
  EXPECT_EQ(read_both(), "2 4:1\n");
}

TEST_F(AmdNodeTest, AnEventWithoutAListenerIsLost) {
  AmdNode node(directory_, Mi300x());
  EXPECT_FALSE(IsListenedTo(directory_, 51110));
  node.BeginReset(0);
  const os::Fd stream = ListenTo(directory_, 51110);
  EXPECT_TRUE(IsListenedTo(directory_, 51110));
  char byte = 0;
  EXPECT_EQ(read(stream.get(), &byte, 1), -1);
}

TEST_F(AmdNodeTest, AGpuOfAnotherDriverIsNotAmdgpus) {
  AmdNode node(directory_, Mi300x());

  node.SetDriver(2, "vfio-pci");

  EXPECT_FALSE(Exists(std::string(kAmdgpu) + "/0000:47:00.0"));
  EXPECT_EQ(Text("/sys/bus/pci/drivers/vfio-pci/0000:47:00.0/vendor"), "0x1002");
  EXPECT_EQ(Gpu("0000:47:00.0", "mem_info_vram_total"), "-");
  EXPECT_FALSE(Exists("/dev/dri/renderD144"));
  EXPECT_EQ(Nodes().size(), 9U);
}

TEST_F(AmdNodeTest, WithoutItsDriverOnlyThePciBusHasTheGpus) {
  AmdNode node(directory_, Mi300x());
  const uint64_t before = Generation();
  node.SetRas(0, "umc", 1, 0);
  node.SetRas(0, "gfx", 1, 0);

  node.RemoveDriver();

  for (const char* path :
       {"/sys/module", "/sys/class", "/dev/kfd", "/sys/devices/platform", kAmdgpu}) {
    EXPECT_FALSE(Exists(path)) << path;
  }
  EXPECT_EQ(List("/dev/dri"), (std::vector<std::string>{"card0"}));
  EXPECT_EQ(Gpu("0000:05:00.0", "vendor"), "0x1002");
  node.InstallDriver();
  EXPECT_EQ(Nodes().size(), 10U);
  EXPECT_GT(Generation(), before);
  EXPECT_EQ(Gpu("0000:05:00.0", "ras/umc_err_count"), "ue: 1\nce: 0\nde: 0");
  EXPECT_EQ(Gpu("0000:05:00.0", "ras/gfx_err_count"), "ue: 0\nce: 0\nde: 0");
}

TEST_F(AmdNodeTest, FilesOfOthersStay) {
  AmdNode node(directory_, Apu());
  ASSERT_TRUE(os::ReplaceFile(directory_ + "/dev/dri/other", ""));

  node.RemoveDriver();

  EXPECT_EQ(List("/dev/dri"), (std::vector<std::string>{"other"}));
}

TEST_F(AmdNodeTest, WhatTheNodeDoesNotHaveIsABadChange) {
  AmdNode node(directory_, Mi300x());

  EXPECT_THROW(node.SetCompute(0, "TPX"), BadChange);
  EXPECT_THROW(node.SetMemoryMode("NPS2"), BadChange);
  EXPECT_THROW(node.SetRas(0, "umcc", 1, 0), BadChange);
  EXPECT_THROW(node.Lose(8), BadChange);
  EXPECT_THROW(node.EndReset(0), BadChange);
}

TEST_F(AmdNodeTest, TheProgramGoesOnWhereItEnded) {
  ASSERT_EQ(AmdTree("mi300x compute 0 CPX lose 3"), 0);
  ASSERT_EQ(AmdTree("mi300x ras 2 umc 1 0"), 0);
  ASSERT_EQ(AmdTree("mi300x return 3 begin-reset 5"), 0);
  const os::Fd stream = ListenTo(directory_, 45120);
  ASSERT_EQ(AmdTree("mi300x end-reset 5 event 5 1 2f:python"), 0);

  EXPECT_EQ(Text("/.amd-node"),
            "mi300x\ncompute 0 CPX\nlose 3\nras 2 umc 1 0\nreturn 3\nbegin-reset 5\nend-reset 5\n"
            "event 5 1 2f:python");
  std::array<char, 64> lines{};
  ASSERT_EQ(read(stream.get(), lines.data(), lines.size()), 16);
  EXPECT_EQ(std::string(lines.data()), "4 1\n1 2f:python\n");
  EXPECT_EQ(Gpu("0000:05:00.0", "current_compute_partition"), "CPX");
  EXPECT_EQ(Gpu("0000:47:00.0", "ras/umc_err_count"), "ue: 1\nce: 0\nde: 0");
  EXPECT_EQ(Nodes().size(), 17U);
  EXPECT_EQ(Kfd(16)["location_id"], 25856U);
  EXPECT_EQ(Generation(), 86U);
}

TEST_F(AmdNodeTest, TheProgramRefusesWrongWords) {
  EXPECT_EQ(AmdTree("mi400"), 2);
  EXPECT_TRUE(Text("/errors").starts_with("amd_tree: there is no node mi400; there are mi300x"));
  EXPECT_EQ(AmdTree("mi300x lose"), 2);
  EXPECT_TRUE(Text("/errors").starts_with("amd_tree: lose needs GPU\nusage: amd_tree DIR NAME"));
  EXPECT_EQ(AmdTree("mi300x lose x"), 2);
  EXPECT_EQ(AmdTree("mi300x melt 1"), 2);
  EXPECT_EQ(AmdTree("apu"), 2);
  EXPECT_EQ(AmdTree("mi300x busy 0 50"), 0);
}

}  // namespace
}  // namespace tessera::amd
