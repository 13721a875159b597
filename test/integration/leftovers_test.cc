// SPDX-License-Identifier: Apache-2.0
// Files that containers with virtual GPUs write and leave on the node. An agent without any
// capability, as in its pod, bounds them and removes them.
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "agent_fixture.h"
#include "grant/fraction.h"
#include "nvml/nvidia_node.h"
#include "os/files.h"
#include "preload_control.h"

namespace tessera {
namespace {

constexpr size_t kTwentyMegabytes = 20'000'000;

class LeftoversTest : public AgentTest {
 protected:
  void SetUp() override {
    EXPECT_TRUE(os::MakeDirectories(OnNode("/usr/local/vgpu"), 0755));
    EXPECT_TRUE(os::ReplaceFile(OnNode("/usr/local/vgpu/libvgpu.so"), "a library", 0644));
    WriteConfig(Config(
        "  - {name: nvidia.com/gpu, policy: vgpu, replicas: 10, strategies: [cdi-cri], cdi: {kind: "
        "ab.com/gpu, dir: /cdi}, nvidia: {vgpu: {}}}\n",
        "rootPrefix: " + node_.directory() + "\n"));
    StartKubelet();
    std::vector<std::string> before = control_.Before();
    if (geteuid() == 0) {
      before.insert(before.end(), {"/usr/bin/setpriv", "--bounding-set=-all", "--inh-caps=-all"});
    }
    agent_ = StartAgent(before);
    Expect(kGpu, 10, 10);
    const kubelet::Admission pod = Run("a", {{kGpu, 1}});
    ASSERT_TRUE(pod.admitted) << pod.message;
    EXPECT_TRUE(LedgerKnows("a"));
    grant_ = pod.grants.at(0).response.annotations.at(kGrantAnnotation);
    own_ = Containers() + "/" + grant_;
  }

  std::string OnNode(const std::string& path) const { return node_.directory() + path; }
  std::string Containers() const { return OnNode("/usr/local/vgpu/containers"); }
  void Fill(const std::string& name) {
    EXPECT_TRUE(os::MakeDirectories(own_ + "/" + name, 0755));
    EXPECT_TRUE(os::ReplaceFile(own_ + "/" + name + "/big", std::string(kTwentyMegabytes, 'x')));
  }
  // Moves the agent's time on by a minute after each comparison of the ledger, until the condition
  // holds.
  bool AwaitMinutes(const std::function<bool()>& condition) {
    int compared = 0;
    return NodeUnderTest::Await([&] {
      const int now = MetricNow(Compared("good")) + MetricNow(Compared("failed"));
      if (std::exchange(compared, now) != now) {
        control_->uptime_jump_ns += int64_t{61} * 1'000'000'000;
      }
      return condition();
    });
  }
  static std::string Compared(const char* result) {
    return fmt::format("tessera_ledger_reconciliations_total{{result=\"{}\"}}", result);
  }

  NvidiaNode node_{dir_ + "/node", "1xt4"};
  PreloadControl control_{dir_ + "/control"};
  std::string grant_;
  std::string own_;
};

TEST_F(LeftoversTest, WhatAContainerLockedUpIsGoneSoonAfterItsPod) {
  Fill("deep/deeper");
  for (const char* name : {"/deep/deeper", "/deep", ""}) {
    ASSERT_EQ(chmod((own_ + name).c_str(), 0), 0);
  }
  ASSERT_TRUE(kubelet_->EndPod("default", "a"));
  const kubelet::Admission next = Run("b", {{kGpu, 1}});  // kubelet writes its checkpoint
  ASSERT_TRUE(next.admitted) << next.message;

  const std::vector<std::string> left = {
      next.grants.at(0).response.annotations.at(kGrantAnnotation)};
  EXPECT_TRUE(AwaitMinutes([&] { return os::ListDirectory(Containers()) == left; }));
  EXPECT_FALSE(os::Exists(dir_ + "/state/grants/" + grant_ + ".json"));
  EXPECT_FALSE(os::Exists(OnNode("/cdi/" + GrantFileName(grant_))));
  EXPECT_EQ(LinesWith("; the agent retries"), 0U);
}

TEST_F(LeftoversTest, AContainerThatFillsItsDirectoryIsCutBackWhileItRuns) {
  Fill("logs");

  EXPECT_TRUE(AwaitMinutes([&] {
    return MetricNow("tessera_vgpu_directories_cut_total{resource=\"nvidia.com/gpu\"}") >= 1;
  }));
  EXPECT_FALSE(os::Exists(own_ + "/logs"));
  EXPECT_TRUE(os::Exists(own_));
  EXPECT_EQ(MetricNow("tessera_vgpu_leftovers"), 0);
  EXPECT_EQ(LinesWith("a container exceeded the limits of its directory"), 1U);
}

}  // namespace
}  // namespace tessera
