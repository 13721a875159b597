// SPDX-License-Identifier: Apache-2.0
// The grants that pods get.
#include "agent_fixture.h"
#include "os/files.h"

namespace tessera {
namespace {

using Ids = std::vector<std::string>;

constexpr char kSixtyFour[] = "  - {name: dummy.com/npu, dummy: {count: 64}}\n";

TEST_F(AgentTest, SixtyFourDevicesBecomeAllocatable) {
  StartAll(kSixtyFour);

  Expect(kNpu, 64, 64);
}

// Each of gRPC's callback threads wakes up twice a second, and sometimes does not listen for 100
// ms.
TEST_F(AgentTest, NoCallbackThreadOfGrpcRuns) {
  StartAll(kSixtyFour);
  Expect(kNpu, 64, 64);
  ASSERT_TRUE(Run("a", {{kNpu, 2}}).admitted);

  const std::string tasks = "/proc/" + std::to_string(agent_.pid()) + "/task";
  const auto threads = os::ListDirectory(tasks);

  ASSERT_TRUE(threads);
  for (const std::string& thread : *threads) {
    EXPECT_NE(os::ReadFile(tasks + "/" + thread + "/comm"), "nexting_thread\n");
  }
}

TEST_F(AgentTest, APodGetsExactlyItsIdsAscendingInTheEnvironment) {
  StartAll(kSixtyFour);
  Expect(kNpu, 64, 64);

  kubelet::Admission pod = Run("a", {{kNpu, 2}});

  ASSERT_TRUE(pod.admitted) << pod.message;
  ASSERT_EQ(pod.grants.size(), 1u);
  EXPECT_EQ(pod.grants[0].ids, (Ids{"0", "1"}));
  Grant grant;
  grant.envs["DUMMY_VISIBLE_DEVICES"] = "0,1";
  EXPECT_EQ(pod.grants[0].response, grant);
}

TEST_F(AgentTest, APodThatAsksForMoreThanThereIsIsRefused) {
  StartAll("  - {name: dummy.com/npu, dummy: {count: 2}}\n");
  Expect(kNpu, 2, 2);

  kubelet::Admission pod = Run("a", {{kNpu, 3}});

  EXPECT_FALSE(pod.admitted);
  EXPECT_EQ(pod.reason, "UnexpectedAdmissionError");
  EXPECT_EQ(pod.message,
            "Allocate failed due to requested number of devices unavailable for dummy.com/npu. "
            "Requested: 3, Available: 2, which is unexpected");
}

TEST_F(AgentTest, DevicesOfOneNumaNodeArePreferred) {
  StartAll("  - {name: dummy.com/npu, dummy: {count: 8, numaNodes: 2}}\n");
  Expect(kNpu, 8, 8);
  Run("a", {{kNpu, 3}});

  kubelet::Admission pod = Run("b", {{kNpu, 2}});

  // NUMA node 0 has one device left and node 1 has four, so two devices of one node come from node
  // 1.
  ASSERT_TRUE(pod.admitted) << pod.message;
  EXPECT_EQ(pod.grants[0].ids, (Ids{"4", "5"}));
}

TEST_F(AgentTest, AReplicaIsAnIdOfItsOwnAndNamesItsDevice) {
  StartAll("  - {name: dummy.com/npu, policy: replicas, replicas: 4, dummy: {count: 2}}\n");
  Expect(kNpu, 8, 8);

  kubelet::Admission pod = Run("a", {{kNpu, 1}});

  ASSERT_TRUE(pod.admitted) << pod.message;
  EXPECT_EQ(pod.grants[0].ids, (Ids{"0::0"}));
  EXPECT_EQ(pod.grants[0].response.envs.at("DUMMY_VISIBLE_DEVICES"), "0");
}

TEST_F(AgentTest, NodesAndMountsOfADeviceReachTheContainer) {
  StartAll(
      "  - name: dummy.com/npu\n"
      "    dummy:\n"
      "      count: 2\n"
      "      nodes: [{hostPath: /dev/null, containerPath: \"/dev/npu{id}\"}]\n"
      "      mounts: [{hostPath: /etc, containerPath: /opt/npu}]\n");
  Expect(kNpu, 2, 2);

  kubelet::Admission pod = Run("a", {{kNpu, 1}});

  ASSERT_TRUE(pod.admitted) << pod.message;
  EXPECT_EQ(pod.grants[0].response.devices,
            (std::vector<DeviceNode>{{"/dev/null", "/dev/npu0", "rw"}}));
  EXPECT_EQ(pod.grants[0].response.mounts, (std::vector<Mount>{{"/etc", "/opt/npu", true}}));
}

TEST_F(AgentTest, CdiNamesAreGrantedAndTheirDocumentIsOnDisk) {
  StartAll("  - {name: dummy.com/npu, strategies: [cdi-cri], cdi: {kind: dummy.com/npu, dir: " +
           dir_ + "/cdi}, dummy: {count: 2}}\n");
  Expect(kNpu, 2, 2);

  kubelet::Admission pod = Run("a", {{kNpu, 1}});

  ASSERT_TRUE(pod.admitted) << pod.message;
  EXPECT_EQ(pod.grants[0].response.cdi_devices, (Ids{"dummy.com/npu=0"}));
  auto names = os::ListDirectory(dir_ + "/cdi");
  ASSERT_TRUE(names);
  EXPECT_EQ(*names, (Ids{"tessera-dummy.com_npu.json"}));
}

TEST_F(AgentTest, TheLedgerSaysWhichPodHoldsWhat) {
  StartAll(kSixtyFour);
  Expect(kNpu, 64, 64);
  kubelet::Admission pod = Run("a", {{kNpu, 2}});

  // At first the holding comes from the checkpoint, which has no names.
  const json::Object expected{{"namespace", "default"}, {"pod", "a"},           {"uid", pod.uid},
                              {"container", "main"},    {"shares", {"0", "1"}}, {"resource", kNpu}};
  EXPECT_TRUE(AwaitPage("/ledger", [&](const json::Object& page) {
    return page.at("holdings") == json::Value(json::Array{expected});
  }));
}

TEST_F(AgentTest, ADeviceIsResetBeforeItsContainerStarts) {
  StartAll("  - {name: dummy.com/npu, dummy: {count: 2, reset: before-start}}\n");
  Expect(kNpu, 2, 2);

  kubelet::Admission pod = Run("a", {{kNpu, 1}});

  EXPECT_TRUE(pod.admitted);
  EXPECT_TRUE(pod.start_failures.empty());
  EXPECT_NE(Log().find("device reset device=dummy.com/npu/0"), std::string::npos);
}

TEST_F(AgentTest, AResetThatFailsKeepsTheContainerFromStarting) {
  StartAll("  - {name: dummy.com/npu, dummy: {count: 2, reset: before-start}}\n");
  Expect(kNpu, 2, 2);
  Fault("reset-fails", "0", "stuck in reset");
  ASSERT_TRUE(AwaitLog("the fault file counts"));

  kubelet::Admission pod = Run("a", {{kNpu, 1}});

  ASSERT_EQ(pod.start_failures.size(), 1u);
  EXPECT_NE(pod.start_failures[0].second.find("dummy.com/npu: device 0 could not be reset: "),
            std::string::npos)
      << pod.start_failures[0].second;
  EXPECT_NE(pod.start_failures[0].second.find("stuck in reset"), std::string::npos);
}

TEST_F(AgentTest, DeviceFilesAreServedAsTheyComeAndGo) {
  ASSERT_TRUE(os::MakeDirectories(dir_ + "/data"));
  ASSERT_TRUE(os::WriteFileAtomically(dir_ + "/data/blob0", "x"));
  StartAll("  - name: example.com/blob\n    files: {groups: [{paths: [{path: \"" + dir_ +
           "/data/blob*\", mount: true}]}]}\n");
  Expect("example.com/blob", 1, 1);

  ASSERT_TRUE(os::WriteFileAtomically(dir_ + "/data/blob1", "y"));
  Expect("example.com/blob", 2, 2);

  ASSERT_TRUE(os::RemoveFile(dir_ + "/data/blob1"));
  Expect("example.com/blob", 1, 1);
}

}  // namespace
}  // namespace tessera
