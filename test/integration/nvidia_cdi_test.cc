// SPDX-License-Identifier: Apache-2.0
// The CDI documents of GPUs and MIG devices, as the shipped binary writes them.
#include <fmt/core.h>

#include <csignal>
#include <set>

#include "agent_fixture.h"
#include "base/text.h"
#include "grant/cdi_document.h"
#include "nvml/nvidia_node.h"
#include "os/files.h"

namespace tessera {
namespace {

std::string GpusByCdi(const std::string& nvidia = "") {
  return "  - {name: nvidia.com/gpu, strategies: [cdi-cri], cdi: {kind: ab.com/gpu, dir: /cdi}, "
         "nvidia: {" +
         nvidia + "}}\n";
}
constexpr char kProfilesByCdi[] =
    "  - {name: \"nvidia.com/mig-{profile}\", strategies: [cdi-cri], cdi: {kind: ab.com/gpu, dir: "
    "/cdi}, nvidia: {mig: \"*\"}}\n";
constexpr char kNpusByCdi[] =
    "  - {name: dummy.com/npu, env: NPU, strategies: [cdi-cri], cdi: {kind: dummy.com/npu, dir: "
    "/cdi}, dummy: {count: 1}}\n";

class NvidiaCdiTest : public AgentTest {
 protected:
  std::string OnNode() const { return "rootPrefix: " + node_.directory() + "\n"; }
  std::string OnDisk(const std::string& name) const {
    return os::ReadFile(node_.directory() + "/cdi/" + name).value_or("nothing");
  }
  // The paths of the device nodes in a container with this device.
  static std::vector<std::string> NodesOf(const cdi::Document& document, const std::string& id) {
    std::vector<std::string> paths;
    for (const cdi::Device& device : document.devices) {
      if (device.name != id) continue;
      for (const cdi::Node& node : device.edits.nodes) paths.push_back(node.OnHost());
    }
    return paths;
  }
  // The node that this line of the kernel's list names.
  std::string CapabilityOf(const std::string& line) const {
    const std::string minors =
        os::ReadFile(node_.directory() + "/proc/driver/nvidia-caps/mig-minors").value();
    for (const std::string& each : Split(minors, '\n')) {
      if (each.starts_with(line + " ")) {
        return "/dev/nvidia-caps/nvidia-cap" + each.substr(line.size() + 1);
      }
    }
    return "none for " + line;
  }
  using NodeUnderTest::Await;

  NvidiaNode node_{dir_ + "/node", "8xh100-mig"};
};

TEST_F(NvidiaCdiTest, AMigDeviceIsItsGpusNodeAndItsOwnTwoAndNothingOfAnothers) {
  StartAll(GpusByCdi() + kProfilesByCdi, OnNode());
  Expect(kGpu, 6, 6);
  Expect(kOneG, 9, 9);
  Expect("nvidia.com/mig-2g.20gb", 1, 1);
  Expect("nvidia.com/mig-3g.40gb", 1, 1);

  const cdi::Document document = cdi::Read(OnDisk("tessera-ab.com_gpu.json")).value();
  std::vector<std::string> shared;
  for (const cdi::Node& node : document.edits.nodes) shared.push_back(node.OnHost());
  EXPECT_EQ(shared, (std::vector<std::string>{"/dev/nvidia-uvm", "/dev/nvidia-uvm-tools",
                                              "/dev/nvidiactl"}));
  size_t devices = 0;
  for (const nvml::HardwareGpu& gpu : node_.hardware().gpus) {
    const std::string parent = fmt::format("/dev/nvidia{}", gpu.minor);
    if (!gpu.mig_enabled) {
      EXPECT_EQ(NodesOf(document, gpu.uuid), std::vector<std::string>{parent});
      ++devices;
    }
    for (const nvml::MigInstance& mig : gpu.mig) {
      const std::string instance = fmt::format("gpu{}/gi{}", gpu.minor, mig.gpu_instance);
      const std::set<std::string> own = {
          parent, CapabilityOf(instance + "/access"),
          CapabilityOf(fmt::format("{}/ci{}/access", instance, mig.compute_instance))};
      const std::vector<std::string> nodes = NodesOf(document, mig.uuid);
      EXPECT_EQ(nodes.size(), 3U);
      EXPECT_EQ(std::set<std::string>(nodes.begin(), nodes.end()), own) << mig.uuid;
      ++devices;
    }
  }
  EXPECT_EQ(devices, 17U);
  EXPECT_EQ(document.devices.size(), devices);  // a GPU in MIG mode is not among them as a whole

  const kubelet::Admission pod = Run("a", {{kOneG, 1}});
  ASSERT_TRUE(pod.admitted) << pod.message;
  const auto& response = pod.grants[0].response;
  EXPECT_EQ(response.cdi_devices,
            std::vector<std::string>{"ab.com/gpu=" + node_.hardware().gpus[7].mig[2].uuid});
  EXPECT_TRUE(response.devices.empty());
  EXPECT_TRUE(response.mounts.empty());
  EXPECT_TRUE(response.envs.empty());
}

TEST_F(NvidiaCdiTest, ADocumentStaysUntilASlowDriversDevicesHaveBeenFoundAgain) {
  StartAll(GpusByCdi() + kNpusByCdi, OnNode());
  Expect(kGpu, 6, 6);
  Expect(kNpu, 1, 1);
  const std::string gpus = OnDisk("tessera-ab.com_gpu.json");
  const std::string npus = OnDisk("tessera-dummy.com_npu.json");
  ASSERT_TRUE(Await([&] {  // the written document is recorded
    return os::ReadFile(dir_ + "/state/cdi-documents").value_or("").find("npu") !=
           std::string::npos;
  }));
  ASSERT_TRUE(AwaitSaved(7));
  EndAgent(SIGKILL, kGpu);

  node_.SetFaults("driver: {hang: [nvmlInit_v2]}");
  const std::string socket = dir_ + "/agent.sock";
  ASSERT_TRUE(os::RemoveFile(socket));
  ASSERT_TRUE(os::MakeDirectories(socket));
  WriteConfig(Config(GpusByCdi(), OnNode()));
  agent_ = StartAgent();
  Expect(kGpu, 6, 6);  // healthy since a check on this boot
  // The agent opens the socket after a look at the documents, which it takes every second.
  ASSERT_TRUE(os::RemoveTree(socket));
  ASSERT_TRUE(Await([&] { return os::Exists(socket); }));
  EXPECT_EQ(OnDisk("tessera-ab.com_gpu.json"), gpus);
  EXPECT_EQ(OnDisk("tessera-dummy.com_npu.json"), npus);

  node_.SetFaults("");
  EXPECT_TRUE(Await([&] { return OnDisk("tessera-dummy.com_npu.json") == "nothing"; }));
  EXPECT_EQ(OnDisk("tessera-ab.com_gpu.json"), gpus);
}

TEST_F(NvidiaCdiTest, AFeatureThatTheNodeLacksIsToldOfOnce) {
  ASSERT_TRUE(os::ReplaceFile(node_.directory() + "/dev/gdrdrv", ""));
  node_.SetGpus(1);
  StartAll(GpusByCdi("features: [gds, gdrcopy]"), OnNode());
  Expect(kGpu, 1, 1);

  const std::string lacking = "a feature for containers is missing; they start without it";
  const std::string log = Log();
  EXPECT_NE(
      log.find(
          "WARN " + lacking +
          " resource=nvidia.com/gpu feature=gds nodes=/dev/nvidia-fs* advice=\"install GPUDirect "
          "Storage and load its kernel module, nvidia-fs, or remove it from 'features'\"\n"),
      std::string::npos);
  EXPECT_EQ(log.find(lacking), log.rfind(lacking));
  const kubelet::Admission pod = Run("a", {{kGpu, 1}});
  ASSERT_TRUE(pod.admitted) << pod.message;
  EXPECT_EQ(pod.grants[0].response.cdi_devices,
            (std::vector<std::string>{"ab.com/gpu=" + node_.hardware().gpus[0].uuid,
                                      "ab.com/gdrcopy=all"}));
}

}  // namespace
}  // namespace tessera
