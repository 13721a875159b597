// SPDX-License-Identifier: Apache-2.0
// The shipped binary as a replacement of NVIDIA's device plugin: under its name, started as its
// DaemonSet starts it, with a ConfigMap of its format.
#include <unistd.h>

#include <csignal>

#include "agent_fixture.h"
#include "backend/nvidia/core/gpu.h"
#include "base/text.h"
#include "grant/cdi_document.h"
#include "nvml/nvidia_node.h"
#include "os/files.h"

namespace tessera {
namespace {

class NvidiaPluginTest : public AgentTest {
 protected:
  explicit NvidiaPluginTest(const std::string& hardware = "8xa100")
      : node_(dir_ + "/node", hardware) {
    // The DaemonSet mounts the driver's root like this.
    EXPECT_EQ(symlink(".", (node_.directory() + "/driver-root").c_str()), 0);
    EXPECT_EQ(symlink(Binary().c_str(), program_.c_str()), 0);
    EXPECT_EQ(symlink("..data/config.yaml", file_.c_str()), 0);
  }

  // Publishes the ConfigMap as kubelet does: a link is switched to another directory.
  void Publish(const std::string& yaml) {
    const std::string name = "..version" + std::to_string(++version_);
    ASSERT_TRUE(os::MakeDirectories(dir_ + "/" + name));
    ASSERT_TRUE(os::ReplaceFile(dir_ + "/" + name + "/config.yaml", yaml));
    ASSERT_EQ(symlink(name.c_str(), (dir_ + "/..data_tmp").c_str()), 0);
    ASSERT_EQ(rename((dir_ + "/..data_tmp").c_str(), (dir_ + "/..data").c_str()), 0);
  }
  // The index that NVML gives the GPU.
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
  // Starts kubelet, and the program with only the plugin's variables. Our variables only keep it
  // within the test's directory.
  void StartPlugin(const std::vector<std::string>& words = {},
                   const std::vector<std::string>& variables = {}) {
    StartKubelet();
    std::vector<std::string> argv = {
        "/usr/bin/env",
        "CONFIG_FILE=" + file_,
        "MPS_ROOT=/run/nvidia/mps",
        "KUBELET_SOCKET=" + dir_ + "/kubelet/device-plugins/kubelet.sock",
        "TESSERA_ROOT_PREFIX=" + node_.directory(),
        "TESSERA_STATE_DIR=" + dir_ + "/state",
        "TESSERA_CONTROL_SOCKET=" + dir_ + "/agent.sock",
        "TESSERA_HTTP_ADDRESS=off"};
    argv.insert(argv.end(), variables.begin(), variables.end());
    argv.push_back(program_);
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

class OneGpuPluginTest : public NvidiaPluginTest {
 protected:
  OneGpuPluginTest() : NvidiaPluginTest("1xt4") {}
};

TEST_F(OneGpuPluginTest, ReplicasAreBoundedByKubeletsMessageAlone) {
  Publish(Shared(16'384));
  StartPlugin();
  Expect(kGpu, 16'384, 16'384);
  const kubelet::Admission pod = Run("a", {{kGpu, 1}});
  ASSERT_TRUE(pod.admitted) << pod.message;

  Publish(Shared(100'000));

  EXPECT_TRUE(
      AwaitLog("ERROR the former device list stays resource=nvidia.com/gpu "
               "reason=list-too-large error=\"nvidia.com/gpu: 100000 shares make a list of more "
               "than 5300000 bytes; kubelet takes 4194304\""));
  Expect(kGpu, 16'384, 16'384);
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
  // All ten shares are of one GPU: its node and those that all GPUs share.
  EXPECT_EQ(paths.size(), 4U);
}

TEST_F(NvidiaPluginTest, DevicesAreToldByIndexInEveryWayThatIsAskedFor) {
  Publish("version: v1\n");
  ASSERT_TRUE(os::MakeDirectories(node_.directory() + "/dev/nvidia-caps-imex-channels"));
  ASSERT_EQ(symlink("/dev/null", (node_.directory() + nvidia::kImexChannel).c_str()), 0);
  for (const char* node : {"/dev/gdrdrv", "/dev/nvidia-fs0"}) {
    ASSERT_TRUE(os::ReplaceFile(node_.directory() + node, ""));
  }
  StartPlugin({"--device-list-strategy=envvar,volume-mounts,cdi-annotations,cdi-cri",
               "--device-id-strategy=index", "--pass-device-specs", "--gds-enabled",
               "--nvidia-dev-root=/host"},
              {"IMEX_CHANNEL_IDS=0", "GDRCOPY_ENABLED=1"});
  Expect(kGpu, 8, 8);

  const kubelet::Admission pod = Run("a", {{kGpu, 8}});

  ASSERT_TRUE(pod.admitted) << pod.message;
  const Grant& grant = pod.grants[0].response;
  EXPECT_EQ(grant.envs, (std::map<std::string, std::string>{
                            {"NVIDIA_GDRCOPY", "enabled"},
                            {"NVIDIA_GDS", "enabled"},
                            {"NVIDIA_IMEX_CHANNELS", "0"},
                            {"NVIDIA_VISIBLE_DEVICES", "/var/run/nvidia-container-devices"}}));
  std::vector<std::string> names;
  std::vector<std::string> mounts;
  std::vector<std::string> nodes = {"/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools"};
  for (int i = 0; i < 8; ++i) {
    names.push_back(fmt::format("k8s.device-plugin.nvidia.com/gpu={}", i));
    mounts.push_back(fmt::format("/var/run/nvidia-container-devices/{}", i));
    nodes.push_back(fmt::format("/dev/nvidia{}", i));
  }
  for (const char* name : {"imex-channel=0", "gdrcopy=all", "gds=all"}) {
    names.push_back(fmt::format("k8s.device-plugin.nvidia.com/{}", name));
  }
  mounts.emplace_back("/var/run/nvidia-container-devices/imex/0");
  nodes.emplace_back(nvidia::kImexChannel);
  EXPECT_EQ(grant.cdi_devices, names);
  EXPECT_EQ(grant.annotations,
            (std::map<std::string, std::string>{
                {"cdi.k8s.io/nvidia-device-plugin_nvidia.com_gpu", Join(names, ",")}}));
  std::vector<std::string> granted;
  for (const Mount& mount : grant.mounts) granted.push_back(mount.container_path);
  EXPECT_EQ(granted, mounts);
  granted.clear();
  for (const DeviceNode& node : grant.devices) {
    EXPECT_EQ(node.host_path, "/host" + node.container_path);
    granted.push_back(node.container_path);
  }
  EXPECT_EQ(granted, nodes);
}

TEST_F(NvidiaPluginTest, ACdiStrategyBringsADocumentWithTheDriversFiles) {
  Publish("version: v1\n");
  ASSERT_TRUE(os::ReplaceFile(node_.directory() + "/usr/lib64/libcuda.so.570.172.08", ""));
  StartPlugin({"--device-list-strategy=cdi-cri", "--nvidia-driver-root=/run/nvidia/driver",
               "--nvidia-cdi-hook-path=/usr/bin/nvidia-cdi-hook", "--gds-enabled"});
  Expect(kGpu, 8, 8);

  const std::string directory = node_.directory() + "/var/run/cdi";
  EXPECT_EQ(os::ListDirectory(directory).value(),
            std::vector<std::string>{"k8s.device-plugin.nvidia.com-gpu.json"});
  const auto text = os::ReadFile(directory + "/k8s.device-plugin.nvidia.com-gpu.json");
  const cdi::Document document = cdi::Read(text.value()).value();
  EXPECT_EQ(document.edits.env, (std::vector<std::string>{"NVIDIA_VISIBLE_DEVICES=void",
                                                          "NVIDIA_CTK_LIBCUDA_DIR=/usr/lib64"}));
  ASSERT_EQ(document.edits.mounts.size(), 1U);
  EXPECT_EQ(document.edits.mounts[0].host_path,
            "/run/nvidia/driver/usr/lib64/libcuda.so.570.172.08");
  EXPECT_EQ(document.edits.mounts[0].container_path, "/usr/lib64/libcuda.so.570.172.08");
  ASSERT_EQ(document.devices.size(), 8U);
  for (const cdi::Device& device : document.devices) {
    ASSERT_EQ(device.edits.nodes.size(), 1U);
    EXPECT_EQ(device.edits.nodes[0].path, "/dev/nvidia" + std::to_string(IndexOf(device.name)));
  }

  const kubelet::Admission pod = Run("a", {{kGpu, 1}});
  ASSERT_TRUE(pod.admitted) << pod.message;
  // The node has no devices of GPUDirect Storage.
  ASSERT_EQ(pod.grants[0].response.cdi_devices.size(), 1U);
  EXPECT_TRUE(
      pod.grants[0].response.cdi_devices[0].starts_with("k8s.device-plugin.nvidia.com/gpu=GPU-"));
}

TEST_F(NvidiaPluginTest, ARequiredImexChannelThatIsMissingIsToldAndLookedForAgain) {
  Publish("version: v1\nimex: {channelIDs: [0], required: true}\n");
  StartPlugin();
  Expect(kGpu, 8, 0);
  EXPECT_TRUE(AwaitLog("the IMEX channel is missing, so every GPU is unhealthy"));

  ASSERT_TRUE(os::MakeDirectories(node_.directory() + "/dev/nvidia-caps-imex-channels"));
  ASSERT_EQ(symlink("/dev/null", (node_.directory() + nvidia::kImexChannel).c_str()), 0);
  Publish("version: v1\nimex: {channelIDs: [0], required: true}\nflags: {gdsEnabled: true}\n");

  Expect(kGpu, 8, 8);
}

TEST_F(NvidiaPluginTest, OneShareAContainerIsAllThatIsGranted) {
  Publish(Shared(10) + "    failRequestsGreaterThanOne: true\n");
  StartPlugin();
  Expect(kGpu, 80, 80);

  EXPECT_TRUE(Run("a", {{kGpu, 1}}).admitted);
  const kubelet::Admission pod = Run("b", {{kGpu, 2}});

  EXPECT_FALSE(pod.admitted);
  EXPECT_NE(
      pod.message.find("nvidia.com/gpu: 2 shares are requested, and a container may hold 1 of "
                       "this resource [too-many-shares]"),
      std::string::npos)
      << pod.message;
}

TEST_F(NvidiaPluginTest, OnlyTheXidsThatTheVariablesLeaveTakeAGpuOut) {
  Publish("version: v1\n");
  StartPlugin({}, {"DP_DISABLE_HEALTHCHECKS=all", "DP_ENABLE_HEALTHCHECKS=48"});
  Expect(kGpu, 8, 8);
  ASSERT_TRUE(AwaitLog("events of GPUs are watched"));

  node_.SetFaults("events: [{gpu: 1, xid: 79}, {gpu: 2, xid: 48}]");

  Expect(kGpu, 8, 7);
  EXPECT_TRUE(AwaitLog("XID 48: memory has an error"));
  EXPECT_EQ(Log().find("XID 79:"), std::string::npos);
}

TEST_F(NvidiaPluginTest, WithAllHealthChecksDisabledNoXidCountsAndALostGpuIsOutAllTheSame) {
  Publish("version: v1\n");
  StartPlugin({}, {"DP_DISABLE_HEALTHCHECKS=all"});
  Expect(kGpu, 8, 8);
  ASSERT_TRUE(AwaitLog("events of GPUs are watched"));
  const auto& gpus = node_.hardware().gpus;

  node_.SetFaults("events: [{gpu: 1, xid: 79}, {gpu: 1, xid: 48}]\ngpus: {2: {lost: true}}");

  Expect(kGpu, 8, 7);
  for (const char* xid : {"79", "48"}) {
    EXPECT_TRUE(
        AwaitMetric(fmt::format(R"(tessera_nvidia_xids_total{{resource="{}",gpu="{}",xid="{}"}})",
                                kGpu, gpus[1].uuid, xid),
                    1));
  }
  for (const auto& device : Status(kGpu).devices) {
    EXPECT_EQ(device.healthy, device.id != gpus[2].uuid) << device.id;
  }
  const json::Object lost = DeviceOn(Page("/inventory"), gpus[2].uuid);
  EXPECT_EQ(json::GetString(lost, "reason"), "device-lost");
}

TEST_F(NvidiaPluginTest, WithoutADriverItEndsWhereSomebodyWroteThat) {
  Publish("version: v1\nflags: {failOnInitError: true}\n");
  node_.RemoveDriver();
  StartPlugin();
  EXPECT_EQ(agent_.Wait(), 1);
  EXPECT_NE(Log().find("nvidia.com/gpu: 'failOnInitError' is set, so nothing is served without "
                       "NVML: cannot load NVML"),
            std::string::npos)
      << Log();
}

TEST_F(NvidiaPluginTest, ByDefaultItWaitsForADriver) {
  Publish("version: v1\n");
  node_.RemoveDriver();
  StartPlugin();
  EXPECT_TRUE(AwaitLog("scan failed; the last device list stays"));
  node_.InstallDriver();
  Expect(kGpu, 8, 8);
}

TEST_F(NvidiaPluginTest, ADriverThatIsThereIsWhatFailOnInitErrorAsksFor) {
  Publish("version: v1\n");
  StartPlugin({"--fail-on-init-error"});
  Expect(kGpu, 8, 8);
}

TEST_F(NvidiaPluginTest, WhatIsNotServedEndsTheStartWithOneLineEach) {
  Publish("version: v1\n");
  StartPlugin({"--mig-strategy=both"});
  EXPECT_EQ(agent_.Wait(), 1);
  EXPECT_NE(Log().find("flags.migStrategy takes 'none', 'single' or 'mixed', not 'both'"),
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
  // The unhealthy ids in kubelet's lists, of all resources.
  std::vector<std::string> UnhealthyIds() const {
    std::vector<std::string> ids;
    for (const kubelet::ResourceStatus& resource : kubelet_->Resources()) {
      for (const auto& device : resource.devices) {
        if (!device.healthy) ids.push_back(device.id);
      }
    }
    std::ranges::sort(ids);
    return ids;
  }
  // The two shares of each of these MIG devices of GPU 7, sorted.
  std::vector<std::string> SharesOfMig(const std::vector<size_t>& devices) const {
    std::vector<std::string> ids;
    for (const size_t device : devices) {
      for (const char* share : {"::0", "::1"}) {
        ids.push_back(node_.hardware().gpus[7].mig[device].uuid + share);
      }
    }
    std::ranges::sort(ids);
    return ids;
  }
};

TEST_F(NvidiaMigPluginTest, MixedServesGpusAndEachProfileByItsName) {
  Publish("version: v1\nflags: {migStrategy: mixed}\n");
  StartPlugin();
  Expect(kGpu, 6, 6);
  Expect(kOneG, 9, 9);
  Expect(kTwoG, 1, 1);
  Expect(kThreeG, 1, 1);
  EXPECT_EQ(Resources(), (std::vector<std::string>{kGpu, kOneG, kTwoG, kThreeG}));
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
  Expect(kOneG, 36, 36);
  Expect(kTwoG, 1, 1);
  Expect(kThreeG, 1, 1);
  EXPECT_EQ(Resources().size(), 4U);

  const kubelet::Admission pod = Run("a", {{kOneG, 1}});
  ASSERT_TRUE(pod.admitted) << pod.message;
  const std::string id = pod.grants[0].ids[0];
  EXPECT_EQ(pod.grants[0].response.envs,
            (std::map<std::string, std::string>{
                {"NVIDIA_VISIBLE_DEVICES", id.substr(0, id.find("::"))}}));
}

TEST_F(NvidiaMigPluginTest, AnXidReachesEveryShareOfTheMigDevicesThatItConcernsAndNoOther) {
  Publish(
      "version: v1\n"
      "flags: {migStrategy: mixed}\n"
      "sharing: {timeSlicing: {resources: [{name: nvidia.com/mig-1g.10gb, replicas: 2}]}}\n");
  StartPlugin();
  Expect(kGpu, 6, 6);
  Expect(kOneG, 18, 18);
  Expect(kTwoG, 1, 1);
  Expect(kThreeG, 1, 1);
  ASSERT_TRUE(AwaitLog("events of GPUs are watched gpus=8"));
  EXPECT_EQ(UnhealthyIds(), std::vector<std::string>());

  // GPU 6 has a GPU instance 9 as well, and no GPU has a compute instance 1.
  const std::string events =
      "events: [{gpu: 7, xid: 79, gi: 10, ci: 1}, {gpu: 7, xid: 79, gi: 9, ci: 0}";
  node_.SetFaults(events + "]");
  Expect(kOneG, 18, 16);
  EXPECT_EQ(UnhealthyIds(), SharesOfMig({2}));

  node_.SetFaults(events + ", {gpu: 7, xid: 79}]");
  Expect(kOneG, 18, 14);
  Expect(kTwoG, 1, 0);
  Expect(kThreeG, 1, 0);
  std::vector<std::string> all = SharesOfMig({2, 3});
  for (const size_t whole : {0, 1}) all.push_back(node_.hardware().gpus[7].mig[whole].uuid);
  std::ranges::sort(all);
  EXPECT_EQ(UnhealthyIds(), all);
  EXPECT_EQ(Status(kGpu).allocatable, 6);
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
