// SPDX-License-Identifier: Apache-2.0
#include "backend/nvidia/core/gpu.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "nvml/nvidia_node.h"

namespace tessera::nvidia {
namespace {

constexpr char kUuid[] = "GPU-8a1f1d3c-5f0e-4a1b-9c55-0d2f6b1e7a42";

Gpu A100() {
  return {.index = 3,
          .uuid = kUuid,
          .model = "NVIDIA A100-SXM4-80GB",
          .minor = 5,
          .pci = "0000:4e:00.0"};
}

std::vector<DeviceNode> Nodes(const std::string& root, const std::vector<std::string>& paths) {
  std::vector<DeviceNode> nodes;
  for (const std::string& path : paths) {
    nodes.push_back({.host_path = root + path, .container_path = path, .permissions = "rw"});
  }
  return nodes;
}

class GpuTest : public testing::Test {
 protected:
  void TearDown() override { EXPECT_TRUE(os::RemoveTree(root_.prefix())); }
  void Write(const std::string& path, const std::string& content = "") {
    ASSERT_TRUE(os::MakeDirectories(root_.Path(path.substr(0, path.rfind('/')))));
    ASSERT_TRUE(os::WriteFileAtomically(root_.Path(path), content));
  }

  const os::Root root_{os::MakeTemporaryDirectory("/tmp/gpu_test").value()};
};

TEST_F(GpuTest, AGpuIsReadFromNvml) {
  const NvidiaNode node(root_.prefix(), "8xa100");
  nvml::Session session(nvml::LibraryPaths(root_, "/"));

  EXPECT_EQ(Read(*session.Open().value(), root_, 3),
            (Gpu{.index = 3,
                 .uuid = node.hardware().gpus[3].uuid,
                 .model = "NVIDIA A100-SXM4-80GB",
                 .minor = 3,
                 .pci = "0000:4e:00.0",
                 .numa = 1,
                 .nvlinks = {.to_gpus = {}, .to_switches = 12}}));
}

TEST_F(GpuTest, AnythingThatCannotBeReadIsAFailure) {
  NvidiaNode node(root_.prefix(), "1xt4");
  nvml::Session session(nvml::LibraryPaths(root_, "/"));
  const nvml::LibraryPtr library = session.Open().value();
  for (const char* function :
       {"nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetUUID", "nvmlDeviceGetName",
        "nvmlDeviceGetMinorNumber", "nvmlDeviceGetPciInfo_v3"}) {
    node.SetFaults(fmt::format("gpus: {{0: {{fail: {{{}: 999}}}}}}", function));
    EXPECT_EQ(Read(*library, root_, 0),
              tl::unexpected(nvml::Failure{function, nvml::Return::kUnknown}));
  }
}

TEST_F(GpuTest, MemoryThatTheDriverHasNoWayToTellIsWhatItIsSaidToBe) {
  NvidiaNode node(root_.prefix(), "1xt4");
  nvml::Session session(nvml::LibraryPaths(root_, "/"));
  const nvml::LibraryPtr library = session.Open().value();
  EXPECT_EQ(MemoryOf(*library, 0, 2048), 15360);
  node.SetFaults("gpus: {0: {fail: {nvmlDeviceGetMemoryInfo: 3}}}");  // not supported
  EXPECT_EQ(MemoryOf(*library, 0, 2048), 2048);
  EXPECT_EQ(MemoryOf(*library, 0), 0);
  node.SetFaults("gpus: {0: {fail: {nvmlDeviceGetMemoryInfo: 999}}}");
  EXPECT_EQ(MemoryOf(*library, 0, 2048), 0);
}

TEST_F(GpuTest, ItsNodesAreThoseOfAllGpusThatAreThereAndItsOwn) {
  Write("/dev/nvidiactl");
  Write("/dev/nvidia-uvm");

  Device expected;
  expected.key = {"nvidia.com/gpu", kUuid};
  expected.model = "NVIDIA A100-SXM4-80GB";
  expected.address = "0000:4e:00.0";
  expected.visible_as = kUuid;
  expected.order = 3 * 64;
  expected.nodes = Nodes("", {"/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia5"});
  EXPECT_EQ(Describe(root_, "nvidia.com/gpu", {}, A100()), expected);
}

TEST_F(GpuTest, ItsPlaceOnTheBusIsThatOfSysfs) {
  const std::string place = "pci0000:4a/0000:4a:02.0/0000:4e:00.0";
  Write("/sys/devices/" + place + "/vendor");
  ASSERT_TRUE(os::MakeDirectories(root_.Path("/sys/bus/pci/devices")));
  ASSERT_EQ(symlink(("../../../devices/" + place).c_str(),
                    root_.Path("/sys/bus/pci/devices/0000:4e:00.0").c_str()),
            0);

  EXPECT_EQ(Describe(root_, "nvidia.com/gpu", {}, A100()).traits->pci_path, place);
}

TEST_F(GpuTest, ItsIndexIsKnownFromItsPlace) {
  EXPECT_EQ(Describe(root_, "nvidia.com/gpu", {}, A100()).order, 3 * kOrderStep);
  EXPECT_EQ(Describe(root_, "nvidia.com/gpu", {}, A100(), MigDevice{.index = 7}).order,
            3 * kOrderStep);
}

TEST_F(GpuTest, ADevRootIsWhereTheNodesAreOnTheHost) {
  Write("/run/nvidia/driver/dev/nvidiactl");

  const Device device =
      Describe(root_, "nvidia.com/gpu", {.dev_root = "/run/nvidia/driver"}, A100());

  EXPECT_EQ(device.nodes, Nodes("/run/nvidia/driver", {"/dev/nvidiactl", "/dev/nvidia5"}));
}

TEST_F(GpuTest, NodesOfAllGpusAreLookedForWhereTheHostsAre) {
  Write("/dev/nvidiactl");
  Write("/dev/nvidia-modeset");
  Write("/driver-root/dev/nvidiactl");

  const Device device = Describe(
      root_, "a.com/b", {.driver_root = "/driver-root", .dev_root = "/run/nvidia/driver"}, A100());

  EXPECT_EQ(device.nodes, Nodes("/run/nvidia/driver", {"/dev/nvidiactl", "/dev/nvidia5"}));
}

TEST_F(GpuTest, ContainersKnowItByItsIndexWhereTheyAreToldTo) {
  const NvidiaConfig config = {.id_strategy = IdStrategy::kIndex};
  const Device gpu = Describe(root_, "a.com/b", config, A100());
  const Device mig = Describe(root_, "a.com/b", config, A100(), {.uuid = "MIG-1", .index = 4});

  EXPECT_EQ(gpu.key.id, kUuid);
  EXPECT_EQ(gpu.visible_as, "3");
  EXPECT_EQ(mig.key.id, "MIG-1");
  EXPECT_EQ(mig.visible_as, "3:4");
}

TEST_F(GpuTest, TheImexChannelStandsLastWhereTheHostHasIt) {
  const std::string channel = kImexChannel;
  const std::string inside = "/driver-root" + channel;
  const NvidiaConfig config = {
      .driver_root = "/driver-root", .dev_root = "/run", .imex = Imex::kOptional};
  const auto link = [&](const std::string& path) {
    EXPECT_TRUE(os::MakeDirectories(root_.Path(path.substr(0, path.rfind('/')))));
    EXPECT_EQ(symlink("/dev/null", root_.Path(path).c_str()), 0);  // a character device
  };
  Write("/driver-root" + channel);  // a file is none
  EXPECT_EQ(ImexNode(root_, config), std::nullopt);
  EXPECT_EQ(Describe(root_, "a.com/b", config, A100()).nodes, Nodes("/run", {"/dev/nvidia5"}));

  link(channel);
  EXPECT_EQ(ImexNode(root_, config), Nodes("", {channel})[0]);

  ASSERT_TRUE(os::RemoveFile(root_.Path(inside)));
  link(inside);
  EXPECT_EQ(Describe(root_, "a.com/b", config, A100()).nodes,
            Nodes("/run", {"/dev/nvidia5", channel}));
  EXPECT_EQ(Describe(root_, "a.com/b", {}, A100()).nodes, Nodes("", {"/dev/nvidia5"}));
}

TEST_F(GpuTest, WithoutARequiredImexChannelNoGpuIsOfUse) {
  const Device device = Describe(root_, "a.com/b", {.imex = Imex::kRequired}, A100());

  EXPECT_EQ(device.nodes, Nodes("", {"/dev/nvidia5"}));
  EXPECT_EQ(device.defect, (Error{Reason::kUnreadable,
                                  "/dev/nvidia-caps-imex-channels/channel0 is required and does "
                                  "not exist: start nvidia-imex, or make the channel"}));
}

TEST_F(GpuTest, WithoutNumaItIsNearToAll) {
  EXPECT_EQ(Describe(root_, "a.com/b", {}, A100()).numa_nodes, std::vector<int>());
  Gpu near = A100();
  near.numa = 1;
  EXPECT_EQ(Describe(root_, "a.com/b", {}, near).numa_nodes, std::vector<int>{1});
}

TEST_F(GpuTest, AMigDeviceHasTheNodesOfItsGpuAndItsOwn) {
  Write("/dev/nvidiactl");
  Write("/proc/driver/nvidia-caps/mig-minors", "gpu5/gi1/access 12\ngpu5/gi1/ci0/access 13\n");
  const MigDevice mig = {.uuid = "MIG-1", .profile = "1g.10gb", .gpu_instance = 1};

  Device expected;
  expected.key = {"a.com/b", "MIG-1"};
  expected.model = "NVIDIA A100-SXM4-80GB MIG 1g.10gb";
  expected.address = "0000:4e:00.0";
  expected.visible_as = "MIG-1";
  expected.order = 3 * 64;
  expected.nodes = Nodes("/run", {"/dev/nvidiactl", "/dev/nvidia5", "/dev/nvidia-caps/nvidia-cap12",
                                  "/dev/nvidia-caps/nvidia-cap13"});
  EXPECT_EQ(Describe(root_, "a.com/b", {.dev_root = "/run"}, A100(), mig), expected);
}

TEST_F(GpuTest, AMigDeviceThatTheDriverHasNoNodesForHasADefect) {
  const Device device = Describe(root_, "a.com/b", {}, A100(), {.gpu_instance = 1});

  EXPECT_EQ(device.defect,
            (Error{Reason::kUnreadable,
                   "/proc/driver/nvidia-caps/mig-minors does not list GPU instance 1 and compute "
                   "instance 0 of GPU 3"}));
}

TEST_F(GpuTest, AGpuThatNeverAnsweredCountsAndIsOfNoUse) {
  const Device device = DescribeUnknown("a.com/b", 3, "it does not answer");

  EXPECT_EQ(device.key, (DeviceKey{"a.com/b", "unreadable-3"}));
  EXPECT_EQ(device.defect, (Error{Reason::kUnreadable, "GPU 3: it does not answer"}));
}

TEST(Gpu, TheDisplayOfADgxStationIsNone) {
  EXPECT_TRUE(IsDisplay({.model = "DGX Display"}));
  EXPECT_TRUE(IsDisplay({.model = "NVIDIA DGX Display"}));
  EXPECT_FALSE(IsDisplay(A100()));
}

}  // namespace
}  // namespace tessera::nvidia
