// SPDX-License-Identifier: Apache-2.0
// The shipped binary in the place of NVIDIA's device plugin: under its name, started as its
// DaemonSet starts it, by a ConfigMap of its own.
#include <unistd.h>

#include <csignal>

#include "agent_fixture.h"
#include "base/text.h"
#include "nvml/nvidia_node.h"
#include "os/files.h"

namespace tessera {
namespace {

constexpr char kGpu[] = "nvidia.com/gpu";

class NvidiaPluginTest : public AgentTest {
 protected:
  explicit NvidiaPluginTest(const std::string& hardware = "8xa100")
      : node_(dir_ + "/node", hardware) {
    // As the DaemonSet mounts the driver's root.
    EXPECT_EQ(symlink(".", (node_.directory() + "/driver-root").c_str()), 0);
    EXPECT_EQ(symlink(TESSERA_BINARY, program_.c_str()), 0);
    EXPECT_EQ(symlink("..data/config.yaml", file_.c_str()), 0);
  }

  // Publishes the ConfigMap as kubelet does: another directory behind a link.
  void Publish(const std::string& yaml) {
    const std::string name = "..version" + std::to_string(++version_);
    ASSERT_TRUE(os::MakeDirectories(dir_ + "/" + name));
    ASSERT_TRUE(os::ReplaceFile(dir_ + "/" + name + "/config.yaml", yaml));
    ASSERT_EQ(symlink(name.c_str(), (dir_ + "/..data_tmp").c_str()), 0);
    ASSERT_EQ(rename((dir_ + "/..data_tmp").c_str(), (dir_ + "/..data").c_str()), 0);
  }
  // NVML's, of a GPU.
  size_t IndexOf(const std::string& uuid) const {
    const auto& gpus = node_.hardware().gpus;
    return static_cast<size_t>(std::ranges::find(gpus, uuid, &nvml::HardwareGpu::uuid) -
                               gpus.begin());
  }
  static std::string Shared(int replicas) {
    return "version: v1\n"
           "flags:\n"
           "  migStrategy: none\n"
           "sharing:\n"
           "  timeSlicing:\n"
           "    resources:\n"
           "    - name: nvidia.com/gpu\n"
           "      replicas: " +
           std::to_string(replicas) + "\n";
  }
  // Kubelet, and the program with nothing but the plugin's variables; ours only keep it within the
  // test's directory.
  void StartPlugin(const std::vector<std::string>& words = {}) {
    StartKubelet();
    std::vector<std::string> argv = {
        "/usr/bin/env",
        "CONFIG_FILE=" + file_,
        "MPS_ROOT=/run/nvidia/mps",
        "KUBELET_SOCKET=" + dir_ + "/kubelet/device-plugins/kubelet.sock",
        "TESSERA_ROOT_PREFIX=" + node_.directory(),
        "TESSERA_STATE_DIR=" + dir_ + "/state",
        "TESSERA_CONTROL_SOCKET=" + dir_ + "/agent.sock",
        "TESSERA_HTTP_ADDRESS=off",
        program_};
    argv.insert(argv.end(), words.begin(), words.end());
    auto process = os::Process::Start(argv, dir_ + "/agent.log");
    ASSERT_TRUE(process);
    agent_ = *std::move(process);
  }
  std::vector<std::string> Ids() {
    std::vector<std::string> ids;
    for (const auto& device : Status(kGpu).devices) ids.push_back(device.id);
    std::sort(ids.begin(), ids.end());
    return ids;
  }
  std::vector<std::string> SharesOf(int replicas) const {
    std::vector<std::string> ids;
    for (const nvml::HardwareGpu& gpu : node_.hardware().gpus) {
      for (int i = 0; i < replicas; ++i) ids.push_back(gpu.uuid + "::" + std::to_string(i));
    }
    std::sort(ids.begin(), ids.end());
    return ids;
  }

  NvidiaNode node_;
  const std::string program_ = dir_ + "/nvidia-device-plugin";
  const std::string file_ = dir_ + "/config.yaml";
  int version_ = 0;
};

TEST_F(NvidiaPluginTest, TimeSlicingByTenServesTenSharesOfEachGpu) {
  Publish(Shared(10));
  StartPlugin();
  Expect(kGpu, 80, 80);
  EXPECT_EQ(Ids(), SharesOf(10));

  const kubelet::Admission pod = Run("a", {{kGpu, 2}});

  ASSERT_TRUE(pod.admitted) << pod.message;
  std::vector<std::string> uuids;
  for (const std::string& id : pod.grants[0].ids) uuids.push_back(id.substr(0, id.find("::")));
  std::sort(uuids.begin(), uuids.end(),
            [&](const auto& a, const auto& b) { return IndexOf(a) < IndexOf(b); });
  EXPECT_EQ(pod.grants[0].response.envs,
            (std::map<std::string, std::string>{{"NVIDIA_VISIBLE_DEVICES", Join(uuids, ",")}}));
  EXPECT_TRUE(pod.grants[0].response.devices.empty());
}

TEST_F(NvidiaPluginTest, AnotherConfigMapTakesEffectAndABadOneChangesNothing) {
  Publish(Shared(10));
  StartPlugin();
  Expect(kGpu, 80, 80);

  Publish(Shared(4));
  Expect(kGpu, 32, 32);
  EXPECT_EQ(Ids(), SharesOf(4));

  Publish(Shared(1));
  EXPECT_TRUE(AwaitLog("sharing.timeSlicing.resources[0].replicas must be at least 2, not 1"));
  Expect(kGpu, 32, 32);
}

TEST_F(NvidiaPluginTest, SighupReadsAFileThatIsLinkedToNothing) {
  Publish(Shared(10));
  StartPlugin();
  Expect(kGpu, 80, 80);

  ASSERT_EQ(unlink(file_.c_str()), 0);
  ASSERT_EQ(symlink("/dev/null", file_.c_str()), 0);
  agent_.Signal(SIGHUP);

  Expect(kGpu, 8, 8);
}

TEST_F(NvidiaPluginTest, AFlagOverridesTheFile) {
  Publish(Shared(10));
  StartPlugin({"-pass-device-specs", "--shared-devices-allocation-policy=packed"});
  Expect(kGpu, 80, 80);

  const kubelet::Admission pod = Run("a", {{kGpu, 10}});

  ASSERT_TRUE(pod.admitted) << pod.message;
  std::vector<std::string> paths;
  for (const auto& device : pod.grants[0].response.devices) paths.push_back(device.container_path);
  // All ten are of one GPU: its node and those that all GPUs share.
  EXPECT_EQ(paths.size(), 4U);
}

TEST_F(NvidiaPluginTest, WhatIsNotServedEndsTheStartWithOneLineEach) {
  Publish(Shared(10));
  StartPlugin({"--device-list-strategy=cdi-cri"});
  EXPECT_EQ(agent_.Wait(), 1);
  EXPECT_NE(Log().find("flag --device-list-strategy: flags.plugin.deviceListStrategy names CDI"),
            std::string::npos)
      << Log();
}

class NvidiaMigPluginTest : public NvidiaPluginTest {
 protected:
  NvidiaMigPluginTest() : NvidiaPluginTest("8xh100-mig") {}
  std::vector<std::string> Resources() const {
    std::vector<std::string> names;
    for (const kubelet::ResourceStatus& resource : kubelet_->Resources()) {
      if (resource.connected) names.push_back(resource.name);
    }
    std::sort(names.begin(), names.end());
    return names;
  }
};

TEST_F(NvidiaMigPluginTest, MixedServesGpusAndEachProfileByItsName) {
  Publish("version: v1\nflags: {migStrategy: mixed}\n");
  StartPlugin();
  Expect(kGpu, 6, 6);
  Expect("nvidia.com/mig-1g.10gb", 9, 9);
  Expect("nvidia.com/mig-2g.20gb", 1, 1);
  Expect("nvidia.com/mig-3g.40gb", 1, 1);
  EXPECT_EQ(Resources(),
            (std::vector<std::string>{kGpu, "nvidia.com/mig-1g.10gb", "nvidia.com/mig-2g.20gb",
                                      "nvidia.com/mig-3g.40gb"}));
}

TEST_F(NvidiaMigPluginTest, MixedSharesTheProfilesThatTheFileNamesAndThatAreThere) {
  Publish(
      "version: v1\n"
      "flags: {migStrategy: mixed}\n"
      "sharing:\n"
      "  timeSlicing:\n"
      "    resources:\n"
      "    - {name: nvidia.com/mig-1g.10gb, replicas: 4}\n"
      "    - {name: nvidia.com/mig-7g.80gb, replicas: 2}\n");
  StartPlugin();
  Expect(kGpu, 6, 6);
  Expect("nvidia.com/mig-1g.10gb", 36, 36);
  Expect("nvidia.com/mig-2g.20gb", 1, 1);
  Expect("nvidia.com/mig-3g.40gb", 1, 1);
  EXPECT_EQ(Resources().size(), 4U);

  const kubelet::Admission pod = Run("a", {{"nvidia.com/mig-1g.10gb", 1}});
  ASSERT_TRUE(pod.admitted) << pod.message;
  const std::string id = pod.grants[0].ids[0];
  EXPECT_EQ(pod.grants[0].response.envs,
            (std::map<std::string, std::string>{
                {"NVIDIA_VISIBLE_DEVICES", id.substr(0, id.find("::"))}}));
}

TEST_F(NvidiaMigPluginTest, SingleTakesOutTheGpusThatAreNotAsMostAre) {
  Publish("version: v1\nflags: {migStrategy: single}\n");
  StartPlugin();
  Expect(kGpu, 8, 6);

  node_.SetMig(6, "off");
  node_.SetMig(7, "off");
  Expect(kGpu, 8, 8);
}

TEST_F(NvidiaMigPluginTest, NoneServesGpusInMigModeAsWholeOnesAndSaysSo) {
  Publish("version: v1\n");
  StartPlugin();
  Expect(kGpu, 8, 8);
  EXPECT_EQ(Resources(), std::vector<std::string>{kGpu});
  EXPECT_TRUE(AwaitLog("a GPU in MIG mode is offered as a whole"));
}

}  // namespace
}  // namespace tessera
