// SPDX-License-Identifier: Apache-2.0
// Virtual GPUs: a container's limits are written when kubelet is about to make it.
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <set>

#include "agent_fixture.h"
#include "grant/cdi_document.h"
#include "grant/fraction.h"
#include "nvml/nvidia_node.h"
#include "os/files.h"
#include "version.h"

namespace tessera {
namespace {

constexpr char kLibrary[] = "/usr/local/vgpu/libvgpu.so";

std::string TenOfEach(const std::string& strategy = "cdi-cri", const std::string& vgpu = "") {
  return fmt::format(
      "  - {{name: nvidia.com/gpu, policy: vgpu, replicas: 10, strategies: "
      "[{}], cdi: {{kind: ab.com/gpu, dir: /cdi}}, nvidia: {{vgpu: {{{}}}}}}}\n",
      strategy, vgpu);
}

class VgpuTest : public AgentTest {
 protected:
  VgpuTest() {
    EXPECT_TRUE(os::MakeDirectories(node_.directory() + "/usr/local/vgpu", 0755));
    PutLibrary();
  }
  void PutLibrary() {
    EXPECT_TRUE(os::ReplaceFile(node_.directory() + kLibrary, "a library", 0644));
  }
  std::string OnNode() const { return "rootPrefix: " + node_.directory() + "\n"; }

  static std::string NameOf(const kubelet::Admission& pod) {
    return pod.grants.at(0).response.annotations.at(kGrantAnnotation);
  }
  std::string TextOf(const std::string& name) const {
    return os::ReadFile(node_.directory() + "/cdi/" + GrantFileName(name)).value_or("nothing");
  }
  // The variables of the grant's only CDI device.
  std::set<std::string> VariablesOf(const std::string& name) const {
    const auto document = cdi::Read(TextOf(name));
    if (!document || document->devices.size() != 1) return {TextOf(name)};
    const std::vector<std::string>& env = document->devices[0].edits.env;
    return {env.begin(), env.end()};
  }
  static std::string PartsIn(const Grant& response) {
    return response.annotations.at(kPartsAnnotation);
  }
  static std::set<std::string> Limits(const std::string& name, int64_t memory, int cores) {
    return {"CUDA_DEVICE_MEMORY_LIMIT_0=" + fmt::format("{}m", memory),
            fmt::format("CUDA_DEVICE_SM_LIMIT={}", cores),
            fmt::format("CUDA_DEVICE_SM_LIMIT_0={}", cores),
            "CUDA_TASK_PRIORITY=1",
            "GPU_CORE_UTILIZATION_POLICY=default",
            fmt::format("CUDA_DEVICE_MEMORY_SHARED_CACHE=/usr/local/vgpu/{}.cache", name),
            "NVIDIA_VISIBLE_DEVICES=void"};
  }
  std::string ContainersDirectory(const std::string& name) const {
    return node_.directory() + "/usr/local/vgpu/containers/" + name;
  }

  using NodeUnderTest::Await;

  NvidiaNode node_{dir_ + "/node", "8xa100"};
};

TEST_F(VgpuTest, AContainerGetsItsPartsByADocumentOfItsOwn) {
  StartAll(TenOfEach(), OnNode());
  Expect(kGpu, 80, 80);

  const kubelet::Admission pod = Run("a", {{kGpu, 2}});
  ASSERT_TRUE(pod.admitted) << pod.message;
  const Grant& response = pod.grants[0].response;
  const std::string name = NameOf(pod);
  EXPECT_EQ(name.size(), 32U);
  // No value from which a runtime without CDI would add a GPU.
  EXPECT_EQ(response,
            (Grant{.envs = {{"NVIDIA_VISIBLE_DEVICES", "void"}},
                   .annotations = {{kGrantAnnotation, name}, {kPartsAnnotation, PartsIn(response)}},
                   .cdi_devices = {"ab.com/grant=" + name}}));

  const cdi::Document document = cdi::Read(TextOf(name)).value();
  EXPECT_EQ(document.kind, "ab.com/grant");
  ASSERT_EQ(document.devices.size(), 1U);
  EXPECT_EQ(document.devices[0].name, name);
  std::set<std::string> devices;
  for (const std::string& id : pod.grants[0].ids) devices.insert(DeviceOfShare(id));
  if (devices.size() == 1) {
    EXPECT_EQ(VariablesOf(name), Limits(name, 81920 / 5, 20));
  } else {
    std::set<std::string> limits = Limits(name, 81920 / 10, 10);
    limits.insert({"CUDA_DEVICE_MEMORY_LIMIT_1=8192m", "CUDA_DEVICE_SM_LIMIT_1=10"});
    EXPECT_EQ(VariablesOf(name), limits);
  }
  std::set<std::string> nodes;
  for (const cdi::Node& node : document.devices[0].edits.nodes) nodes.insert(node.path);
  std::set<std::string> expected = {"/dev/nvidia-uvm", "/dev/nvidia-uvm-tools", "/dev/nvidiactl"};
  for (const nvml::HardwareGpu& gpu : node_.hardware().gpus) {
    if (devices.contains(gpu.uuid)) expected.insert(fmt::format("/dev/nvidia{}", gpu.minor));
  }
  EXPECT_EQ(nodes, expected);
}

TEST_F(VgpuTest, WhatWasGrantedOfEachGpuIsSeenInTheMetrics) {
  StartAll(TenOfEach(), OnNode());
  Expect(kGpu, 80, 80);
  const kubelet::Admission pod = Run("a", {{kGpu, 1}});
  ASSERT_TRUE(pod.admitted) << pod.message;

  const std::string of_gpu = fmt::format("{{resource=\"nvidia.com/gpu\",gpu=\"{}\"}} ",
                                         DeviceOfShare(pod.grants[0].ids[0]));
  const auto has = [&](const std::string& series) {
    return Get("/metrics").find("\n" + series + "\n") != std::string::npos;
  };
  EXPECT_TRUE(Await([&] { return has("tessera_vgpu_containers{resource=\"nvidia.com/gpu\"} 1"); }))
      << Get("/metrics");
  EXPECT_TRUE(has("tessera_vgpu_memory_granted_bytes" + of_gpu + "8589934592")) << Get("/metrics");
  EXPECT_TRUE(has("tessera_vgpu_memory_bytes" + of_gpu + "85899345920"));
  EXPECT_TRUE(has("tessera_vgpu_cores_granted_percent" + of_gpu + "10"));
  EXPECT_TRUE(has("tessera_vgpu_cores_percent" + of_gpu + "100"));
}

TEST_F(VgpuTest, TheLibraryThatTheAgentBringsIsInstalledAndMounted) {
  const std::string elf = {0x7f, 'E', 'L', 'F'};
  ASSERT_TRUE(os::MakeDirectories(node_.directory() + "/image", 0755));
  ASSERT_TRUE(os::ReplaceFile(node_.directory() + "/image/libvgpu.so", elf));
  StartAll(TenOfEach("cdi-cri", "install: /image/libvgpu.so"), OnNode());
  Expect(kGpu, 80, 80);
  const kubelet::Admission pod = Run("a", {{kGpu, 1}});
  ASSERT_TRUE(pod.admitted) << pod.message;

  const cdi::Document document = cdi::Read(TextOf(NameOf(pod))).value();
  std::string host_path;
  for (const cdi::Mount& mount : document.devices[0].edits.mounts) {
    if (mount.container_path == kLibrary) host_path = mount.host_path;
  }
  EXPECT_TRUE(host_path.starts_with("/usr/local/vgpu/libvgpu.so.")) << host_path;
  EXPECT_EQ(os::ReadFile(node_.directory() + host_path), elf);
}

TEST_F(VgpuTest, TheLibraryIsPutWhereTheContainersLoaderLooks) {
  StartAll(TenOfEach(), OnNode());
  Expect(kGpu, 80, 80);
  const kubelet::Admission pod = Run("a", {{kGpu, 1}});
  ASSERT_TRUE(pod.admitted) << pod.message;
  const std::string name = NameOf(pod);

  const cdi::Document document = cdi::Read(TextOf(name)).value();
  std::vector<std::string> mounts;
  for (const cdi::Mount& mount : document.devices[0].edits.mounts) {
    if (mount.container_path.find("vgpu") == std::string::npos &&
        mount.container_path.find("preload") == std::string::npos) {
      continue;
    }
    mounts.push_back(
        fmt::format("{} <- {} {}", mount.container_path, mount.host_path, mount.options.back()));
  }
  EXPECT_EQ(mounts,
            (std::vector<std::string>{
                "/etc/ld.so.preload <- /usr/local/vgpu/ld.so.preload ro",
                "/tmp/vgpulock <- /usr/local/vgpu/locks/" + name + " rw",
                "/run/tessera/vgpu <- /usr/local/vgpu/limits/" + name + " ro",
                "/usr/local/vgpu <- /usr/local/vgpu/containers/" + name + " rw",
                "/run/tessera/vgpu/limits <- /usr/local/vgpu/limits/" + name + "/limits ro",
                "/run/tessera/vgpu/no-limits <- /usr/local/vgpu/limits/" + name + "/no-limits ro",
                "/usr/local/vgpu/libvgpu.so <- /usr/local/vgpu/libvgpu.so ro"}));
  EXPECT_EQ(os::ReadFile(node_.directory() + "/usr/local/vgpu/ld.so.preload").value_or("nothing"),
            std::string(kLibrary) + "\n");
  EXPECT_EQ(os::Inspect(ContainersDirectory(name))->mode, 0777U);
  EXPECT_EQ(os::Inspect(node_.directory() + "/usr/local/vgpu/locks")->mode, 0700U);
  EXPECT_FALSE(os::Exists(node_.directory() + "/tmp/vgpulock"));
}

// HAMi since 2.5 leaves only this file on a node.
TEST_F(VgpuTest, AVersionThatHamisPluginLeftIsWhatContainersLoad) {
  const std::string version = std::string(kLibrary) + ".v2.10.0";
  ASSERT_TRUE(os::RemoveFile(node_.directory() + kLibrary));
  ASSERT_TRUE(os::ReplaceFile(node_.directory() + version, "HAMi-core", 0644));
  StartAll(TenOfEach(), OnNode());
  Expect(kGpu, 80, 80);
  const kubelet::Admission pod = Run("a", {{kGpu, 1}});
  ASSERT_TRUE(pod.admitted) << pod.message;
  EXPECT_NE(TextOf(NameOf(pod)).find("\"" + version + "\""), std::string::npos);
}

// Devices that cannot be granted are not offered, and the log says why before a pod comes.
TEST_F(VgpuTest, WithoutTheLibraryAllIsUnhealthyFromTheStartUntilItIsThere) {
  ASSERT_TRUE(os::RemoveFile(node_.directory() + kLibrary));
  ASSERT_TRUE(os::ReplaceFile(node_.directory() + "/usr/local/vgpu/libvgpu.so.2", "", 0644));
  StartAll(TenOfEach(), OnNode());
  Expect(kGpu, 80, 0);
  const std::string why =
      "the limiting library is not at /usr/local/vgpu/libvgpu.so; its directory has libvgpu.so.2";
  EXPECT_NE(Get("/readyz").find("503"), std::string::npos) << Get("/readyz");
  EXPECT_NE(Get("/inventory").find("nvidia.com/gpu: " + why + " [not-enforced]"), std::string::npos)
      << Get("/inventory");
  EXPECT_TRUE(AwaitLog("no virtual GPU can be granted: all are offered as unhealthy"));
  const std::string series =
      "tessera_vgpu_trouble{resource=\"nvidia.com/gpu\",reason=\"not-enforced\"}";
  EXPECT_EQ(MetricNow(series), 1);
  EXPECT_NE(Get("/inventory").find(why), std::string::npos);
  EXPECT_FALSE(Run("a", {{kGpu, 1}}).admitted);

  PutLibrary();
  Expect(kGpu, 80, 80);
  EXPECT_EQ(Get("/readyz"), "ok\n");
  EXPECT_EQ(MetricNow(series), -1);
  EXPECT_TRUE(Run("b", {{kGpu, 1}}).admitted);
}

TEST_F(VgpuTest, WhereOthersMayWriteNothingIsGrantedFromTheStart) {
  const std::string parent = node_.directory() + "/usr/local";
  ASSERT_EQ(chmod(parent.c_str(), 01777), 0);
  StartAll(TenOfEach(), OnNode());
  Expect(kGpu, 80, 0);
  EXPECT_NE(Get("/readyz").find("503"), std::string::npos) << Get("/readyz");
  const std::string why = fmt::format(
      "{} is writable for users other than root (user {}, group {}, 1777); files that limit "
      "containers must not lie there",
      parent, geteuid(), getegid());
  EXPECT_NE(Get("/inventory").find("nvidia.com/gpu: " + why + " [permission]"), std::string::npos)
      << Get("/inventory");
  ASSERT_EQ(chmod(parent.c_str(), 0755), 0);
  Expect(kGpu, 80, 80);
}

TEST_F(VgpuTest, WhatWasGrantedAtFirstHoldsWhateverTheConfigurationSaysByThen) {
  StartAll(TenOfEach(), OnNode());
  Expect(kGpu, 80, 80);
  const kubelet::Admission pod = Run("a", {{kGpu, 1}});
  ASSERT_TRUE(pod.admitted) << pod.message;
  const std::string name = NameOf(pod);
  const std::string text = TextOf(name);
  EXPECT_EQ(VariablesOf(name), Limits(name, 8192, 10));

  std::string sizes = "sizes: [{memory: 4000, cores: 5}";
  for (int i = 1; i < 10; ++i) sizes += ", {memory: 4000, cores: 5}";
  WriteConfig(Config(TenOfEach("cdi-cri", sizes + "]"), OnNode()));
  ASSERT_TRUE(AwaitLog("configuration reloaded"));
  int pods = 0;  // they get the former sizes until a scan has found the GPUs again
  EXPECT_TRUE(Await([&] {
    const kubelet::Admission other = RunUntilAdmitted(fmt::format("b{}-", ++pods), {{kGpu, 1}});
    return VariablesOf(NameOf(other)) == Limits(NameOf(other), 4000, 5);
  }));

  ASSERT_TRUE(os::RemoveFile(node_.directory() + "/cdi/" + GrantFileName(name)));
  EXPECT_TRUE(kubelet_->RestartContainer("default", "a", "main"));
  EXPECT_EQ(TextOf(name), text);
}

TEST_F(VgpuTest, AnAgentThatWasKilledBeforeTheContainerBeganBindsTheGrantOfTheOneBefore) {
  StartAll(TenOfEach(), OnNode());
  Expect(kGpu, 80, 80);
  // The agent writes no document into a directory that others may write.
  const std::string documents = node_.directory() + "/cdi";
  ASSERT_EQ(chmod(documents.c_str(), 0777), 0);
  const kubelet::Admission pod = Run("a", {{kGpu, 1}});
  ASSERT_TRUE(pod.admitted) << pod.message;
  EXPECT_EQ(TextOf(NameOf(pod)), "nothing");
  EndAgent(SIGKILL, kGpu);

  ASSERT_EQ(chmod(documents.c_str(), 0755), 0);
  agent_ = StartAgent();
  Expect(kGpu, 80, 80);
  // Refused until a scan has found the GPUs again.
  EXPECT_TRUE(
      Await([&] { return kubelet_->RestartContainer("default", "a", "main").has_value(); }));
  EXPECT_EQ(VariablesOf(NameOf(pod)), Limits(NameOf(pod), 8192, 10));
}

TEST_F(VgpuTest, WithACheckpointOfUnknownShapeNothingIsMadeUntilItIsKnownAgain) {
  StartAll(TenOfEach(), OnNode());
  Expect(kGpu, 80, 80);
  const kubelet::Admission before = Run("before", {{kGpu, 1}});
  ASSERT_TRUE(before.admitted) << before.message;
  const std::string text = TextOf(NameOf(before));
  kubelet_->ShapeCheckpointAnew(true);

  const kubelet::Admission pod = Run("a", {{kGpu, 1}});
  ASSERT_EQ(pod.start_failures.size(), 1U);
  const std::string& why = pod.start_failures[0].second;
  EXPECT_NE(why.find("nvidia.com/gpu: kubelet's checkpoint does not identify the container: its "
                     "format is unknown (kubelet is unknown, the agent " TESSERA_VERSION
                     "); a newer agent may know it: "),
            why.npos)
      << why;
  EXPECT_NE(why.find("[grant-unknown]"), why.npos) << why;
  EXPECT_FALSE(kubelet_->RestartContainer("default", "before", "main"));
  EXPECT_EQ(TextOf(NameOf(before)), text);
  EXPECT_EQ(MetricNow("tessera_checkpoint_unknown"), 1);
  EXPECT_EQ(LinesWith("kubelet's checkpoint has an unknown format: "), 1U);

  kubelet_->ShapeCheckpointAnew(false);
  EXPECT_TRUE(kubelet_->RestartContainer("default", "before", "main"));
  EXPECT_TRUE(kubelet_->RestartContainer("default", "a", "main"));
  EXPECT_EQ(TextOf(NameOf(before)), text);
  EXPECT_EQ(VariablesOf(NameOf(pod)), Limits(NameOf(pod), 8192, 10));
  EXPECT_EQ(MetricNow("tessera_checkpoint_unknown"), 0);
}

TEST_F(VgpuTest, WithoutCdiTheLimitsAreInTheAnswerAndTheDirectoryIsMadeBeforeTheContainer) {
  StartAll(TenOfEach("envvar"), OnNode());
  Expect(kGpu, 80, 80);

  const kubelet::Admission pod = Run("a", {{kGpu, 1}});
  ASSERT_TRUE(pod.admitted) << pod.message;
  const Grant& response = pod.grants[0].response;
  const std::string name = NameOf(pod);
  EXPECT_EQ(response.envs,
            (std::map<std::string, std::string>{
                {"CUDA_DEVICE_MEMORY_LIMIT_0", "8192m"},
                {"CUDA_DEVICE_MEMORY_SHARED_CACHE", "/usr/local/vgpu/" + name + ".cache"},
                {"CUDA_DEVICE_SM_LIMIT", "10"},
                {"CUDA_DEVICE_SM_LIMIT_0", "10"},
                {"CUDA_TASK_PRIORITY", "1"},
                {"GPU_CORE_UTILIZATION_POLICY", "default"},
                {"NVIDIA_VISIBLE_DEVICES", DeviceOfShare(pod.grants[0].ids[0])}}));
  EXPECT_EQ(PartsIn(response), DeviceOfShare(pod.grants[0].ids[0]) + "=8192:10");
  EXPECT_TRUE(response.cdi_devices.empty());
  EXPECT_EQ(response.mounts.size(), 7U);
  EXPECT_EQ(os::Inspect(ContainersDirectory(name))->mode, 0777U);
  EXPECT_TRUE(os::Exists(node_.directory() + "/usr/local/vgpu/limits/" + name + "/limits"));
  EXPECT_EQ(TextOf(name), "nothing");
}

}  // namespace
}  // namespace tessera
