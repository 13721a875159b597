// SPDX-License-Identifier: Apache-2.0
// The shipped binary keeps the feature file in step with its GPUs while it serves them.
#include <csignal>

#include "agent_fixture.h"
#include "nvml/nvidia_node.h"
#include "os/files.h"

namespace tessera {
namespace {

class LabelsTest : public AgentTest {
 protected:
  // Intervals are so long that polling finds no change.
  void Start() {
    StartAll(
        "  - {name: nvidia.com/gpu, nvidia: {}}\n"
        "  - {name: \"nvidia.com/mig-{profile}\", nvidia: {mig: \"*\"}}\n",
        "rootPrefix: " + node_.directory() +
            "\nlabels: {output: file, file: /features.d/gfd, sleepInterval: 24h}\n");
  }
  std::string Labels() {
    return os::ReadFile(node_.directory() + "/features.d/gfd").value_or("nothing");
  }
  bool AwaitLabel(const std::string& line) {
    return Await([&] { return Labels().find(line + "\n") != std::string::npos; });
  }

  NvidiaNode node_{dir_ + "/node", "8xh100-mig"};
};

TEST_F(LabelsTest, TheFileFollowsTheDevicesAndOutlivesTheAgent) {
  Start();
  Expect(kOneG, 9, 9);
  ASSERT_TRUE(AwaitLabel("nvidia.com/mig-1g.10gb.count=9")) << Labels();

  node_.SetMig(7, "[{profile: 1g.10gb, gi: 9, memory: 9984}]");
  ASSERT_TRUE(AwaitLabel("nvidia.com/mig-1g.10gb.count=8")) << Labels();
  EXPECT_EQ(Labels().find("nvidia.com/mig-2g.20gb"), std::string::npos) << Labels();

  const std::string last = Labels();
  EndAgent(SIGTERM, kOneG);
  EXPECT_EQ(Labels(), last);
}

}  // namespace
}  // namespace tessera
