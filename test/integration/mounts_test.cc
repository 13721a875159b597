// SPDX-License-Identifier: Apache-2.0
// The agent in a container that mounts less than ours: only kubelet's directory for plugins'
// sockets, as NVIDIA's device plugin has it.
#include "agent_fixture.h"
#include "os/files.h"

namespace tessera {
namespace {

constexpr char kFailedLooks[] = R"(tessera_ledger_reconciliations_total{result="failed"})";

class MountsTest : public AgentTest {
 protected:
  void SetUp() override {
    if (!WhyNoMounts().empty()) GTEST_SKIP() << WhyNoMounts();
  }
  void StartWithPluginsAlone() {
    WriteConfig(Config(kFour));
    StartKubelet();
    const std::string plugins = dir_ + "/kubelet/device-plugins";
    ASSERT_TRUE(os::MakeDirectories(dir_ + "/aside"));
    agent_ = StartAgent(WithMounts("mount --bind " + plugins + " " + dir_ + "/aside && " +
                                   "mount -t tmpfs tmpfs " + dir_ + "/kubelet && mkdir " + plugins +
                                   " && mount --bind " + dir_ + "/aside " + plugins));
    Expect(kNpu, 4, 4);
  }
};

TEST_F(MountsTest, WithoutPodResourcesTheCheckpointTellsWhoHoldsWhat) {
  StartWithPluginsAlone();

  const kubelet::Admission pod = Run("a", {{kNpu, 2}});

  ASSERT_TRUE(pod.admitted) << pod.message;
  const json::Array shares(pod.grants[0].ids.begin(), pod.grants[0].ids.end());
  EXPECT_TRUE(AwaitPage("/ledger", [&](const json::Object& page) {
    const json::Array* pending = json::GetArray(page, "pending");
    const json::Array* holdings = json::GetArray(page, "holdings");
    return json::GetBool(page, "reconciled") == true && pending != nullptr && pending->empty() &&
           holdings != nullptr && holdings->size() == 1 && holdings->at(0).at("pod") == "" &&
           holdings->at(0).at("uid") != "" && holdings->at(0).at("shares") == shares;
  }));
}

TEST_F(MountsTest, WithoutPodResourcesAnotherPolicyComesWhereNobodyHoldsADevice) {
  StartWithPluginsAlone();

  WriteConfig(
      Config("  - {name: dummy.com/npu, policy: replicas, replicas: 2, dummy: {count: 4}}\n"));

  Expect(kNpu, 8, 8);
}

TEST_F(MountsTest, WhatIsLostWithoutPodResourcesIsToldOnce) {
  StartWithPluginsAlone();
  ASSERT_TRUE(AwaitMetric(kFailedLooks, 3));

  const std::string said =
      "WARN cannot compare the ledger with kubelet reason=pod-resources-unavailable error=\"" +
      dir_ +
      "/kubelet/pod-resources does not exist, so the agent reads kubelet's checkpoint, which lacks "
      "pod names and still lists ended pods. If kubelet loses the agent's registration, the agent "
      "does not notice\" advice=";
  const std::string log = Log();

  const size_t at = log.find(said);
  EXPECT_NE(at, std::string::npos) << log;
  EXPECT_EQ(log.find(said, at + 1), std::string::npos) << log;
}

}  // namespace
}  // namespace tessera
