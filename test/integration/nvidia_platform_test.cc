// SPDX-License-Identifier: Apache-2.0
// Nodes whose GPUs cannot be distinguished, as the shipped binary serves them.
#include "agent_fixture.h"
#include "nvml/nvidia_node.h"
#include "os/files.h"

namespace tessera {
namespace {

class NvidiaPlatformTest : public AgentTest {
 protected:
  // The grant of a container that requests one GPU of such a node.
  kubelet::Admission OnNode(const std::string& hardware, const std::string& strategies) {
    node_.emplace(dir_ + "/node", hardware);
    StartAll("  - {name: nvidia.com/gpu, strategies: [" + strategies + "], nvidia: {}}\n",
             "rootPrefix: " + node_->directory() + "\n");
    Expect(kGpu, 1, 1);
    return Run("a", {{kGpu, 1}});
  }

  std::optional<NvidiaNode> node_;
};

TEST_F(NvidiaPlatformTest, AContainerOnWslHasAllGpusByOneNode) {
  const kubelet::Admission pod = OnNode("wsl", "envvar, device-specs");

  ASSERT_TRUE(pod.admitted) << pod.message;
  const auto& response = pod.grants[0].response;
  EXPECT_EQ(response.envs, (std::map<std::string, std::string>{{"NVIDIA_VISIBLE_DEVICES", "all"}}));
  ASSERT_EQ(response.devices.size(), 1U);
  EXPECT_EQ(response.devices[0].container_path, "/dev/dxg");

  ASSERT_TRUE(os::RemoveFile(node_->directory() + "/dev/dxg"));
  Expect(kGpu, 1, 0);
}

TEST_F(NvidiaPlatformTest, AContainerOnATegraIsToldSoAndNothingElse) {
  const kubelet::Admission pod = OnNode("tegra", "envvar, device-specs");

  ASSERT_TRUE(pod.admitted) << pod.message;
  const auto& response = pod.grants[0].response;
  EXPECT_EQ(response.envs,
            (std::map<std::string, std::string>{{"NVIDIA_VISIBLE_DEVICES", "tegra"}}));
  EXPECT_TRUE(response.devices.empty());
}

}  // namespace
}  // namespace tessera
