// SPDX-License-Identifier: Apache-2.0
// The configuration changes while pods run. And lists that are too long for kubelet.
#include <unistd.h>

#include <csignal>

#include "agent_fixture.h"
#include "os/files.h"

namespace tessera {
namespace {

constexpr char kTpuResource[] = "  - {name: dummy.com/tpu, env: TPUS, dummy: {count: 2}}\n";

class ReloadTest : public AgentTest {};

TEST_F(ReloadTest, AnAddedResourceIsServedAndTheOthersAreNotRegisteredAgain) {
  StartAll(kFour);
  Expect(kNpu, 4, 4);

  WriteConfig(Config(std::string(kFour) + kTpuResource));

  Expect("dummy.com/tpu", 2, 2);
  EXPECT_EQ(Registrations(kNpu), 1);
}

TEST_F(ReloadTest, ARemovedResourceIsNoLongerServed) {
  StartAll(std::string(kFour) + kTpuResource);
  Expect(kNpu, 4, 4);
  Expect("dummy.com/tpu", 2, 2);

  WriteConfig(Config(kFour));

  ASSERT_TRUE(
      kubelet_->WaitUntil([&](const auto&) { return !Status("dummy.com/tpu").connected; }, kLimit));
  Expect(kNpu, 4, 4);
  EXPECT_EQ(Registrations(kNpu), 1);
}

TEST_F(ReloadTest, AChangedCountTakesEffectWithoutANewRegistration) {
  StartAll(kFour);
  Expect(kNpu, 4, 4);
  kubelet::Admission pod = Run("a", {{kNpu, 1}});
  ASSERT_TRUE(pod.admitted);

  WriteConfig(Config("  - {name: dummy.com/npu, dummy: {count: 6}}\n"));

  Expect(kNpu, 6, 6);
  EXPECT_EQ(Registrations(kNpu), 1);
}

TEST_F(ReloadTest, ResetBeforeStartNeedsANewRegistrationAndGetsIt) {
  StartAll(kFour);
  Expect(kNpu, 4, 4);

  WriteConfig(Config("  - {name: dummy.com/npu, dummy: {count: 4, reset: before-start}}\n"));
  ASSERT_TRUE(AwaitRegistrations(kNpu, 2));
  Expect(kNpu, 4, 4);

  RunUntilAdmitted("a", {{kNpu, 1}});
  EXPECT_NE(Log().find("device reset device=dummy.com/npu/0"), std::string::npos);
}

TEST_F(ReloadTest, AnInvalidFileChangesNothingAndSaysWhy) {
  StartAll(kFour);
  Expect(kNpu, 4, 4);

  WriteConfig(Config("  - {name: dummy.com/npu, dumy: {count: 9}}\n"));

  EXPECT_TRUE(AwaitLog("the new configuration is not used, the former one stays"));
  EXPECT_NE(Log().find("tessera.yaml line=9 column=27 "), std::string::npos);
  EXPECT_NE(Log().find("closest=dummy"), std::string::npos);
  Expect(kNpu, 4, 4);
}

TEST_F(ReloadTest, ASwappedSymbolicLinkIsARead) {
  // A ConfigMap is mounted like this: FILE -> ..data/FILE, and ..data is swapped.
  ASSERT_TRUE(os::MakeDirectories(dir_ + "/v1"));
  ASSERT_TRUE(os::MakeDirectories(dir_ + "/v2"));
  ASSERT_TRUE(os::WriteFileAtomically(dir_ + "/v1/tessera.yaml", Config(kFour)));
  ASSERT_TRUE(os::WriteFileAtomically(dir_ + "/v2/tessera.yaml",
                                      Config("  - {name: dummy.com/npu, dummy: {count: 5}}\n")));
  ASSERT_EQ(symlink("v1", (dir_ + "/..data").c_str()), 0);
  ASSERT_EQ(symlink("..data/tessera.yaml", (dir_ + "/tessera.yaml").c_str()), 0);
  StartKubelet();
  agent_ = StartAgent();
  Expect(kNpu, 4, 4);

  ASSERT_EQ(symlink("v2", (dir_ + "/..new").c_str()), 0);
  ASSERT_EQ(rename((dir_ + "/..new").c_str(), (dir_ + "/..data").c_str()), 0);

  Expect(kNpu, 5, 5);
}

TEST_F(ReloadTest, AFileThatAppearsLaterIsReadOnHangup) {
  WriteConfig(Config("  []\n"));
  StartKubelet();
  agent_ = StartAgent();
  ASSERT_TRUE(AwaitLog("no resources are configured"));

  WriteConfig(Config(kFour));
  agent_.Signal(SIGHUP);

  Expect(kNpu, 4, 4);
}

TEST_F(ReloadTest, AListThatDoesNotFitIsRefusedWithTheCountThatWould) {
  StartAll("  - {name: dummy.com/npu, policy: replicas, replicas: 500, dummy: {count: 500}}\n" +
           std::string(kTpuResource));

  Expect("dummy.com/tpu", 2, 2);  // another resource's trouble costs it nothing
  EXPECT_TRUE(AwaitLog("resource is not served"));
  EXPECT_NE(Log().find("would fit kubelet's 4194304 bytes"), std::string::npos);
  EXPECT_EQ(Status(kNpu).capacity, 0);
}

TEST_F(ReloadTest, AListThatNoLongerFitsLeavesTheFormerOneServing) {
  StartAll(kFour);
  Expect(kNpu, 4, 4);
  // Before the ledger is known, the former policy would stay.
  ASSERT_TRUE(AwaitMetric(R"(tessera_ledger_reconciliations_total{result="good"})", 1));

  WriteConfig(
      Config("  - {name: dummy.com/npu, policy: replicas, replicas: 500, dummy: {count: 500}}\n"));
  EXPECT_TRUE(AwaitLog("the former device list stays"));
  Fault("fail", "2", "on fire");

  // The device's health is still judged.
  Expect(kNpu, 4, 3);
}

// 655 million shares: no memory would hold them.
TEST_F(ReloadTest, SharesThatCouldNeverFitAreNotMade) {
  StartAll("  - {name: dummy.com/npu, dummy: {count: 4096}}\n");
  Expect(kNpu, 4'096, 4'096);
  const kubelet::Admission pod = Run("a", {{kNpu, 4}});
  ASSERT_TRUE(pod.admitted) << pod.message;
  ASSERT_TRUE(AwaitMetric(R"(tessera_ledger_reconciliations_total{result="good"})", 1));

  WriteConfig(
      Config("  - {name: dummy.com/npu, policy: replicas, replicas: 10000, "
             "dummy: {count: 4096}}\n"));

  constexpr char kRefused[] =
      "ERROR the former device list stays resource=dummy.com/npu "
      "reason=list-too-large";
  EXPECT_TRUE(AwaitLog(kRefused));
  Expect(kNpu, 4'096, 4'096);

  // The next agent starts from the saved state, and makes none either.
  EndAgent(SIGKILL);
  agent_ = StartAgent();
  Expect(kNpu, 4'096, 4'096);
  EXPECT_TRUE(Await([&] { return LinesWith(kRefused) == 2; }));
  EXPECT_TRUE(kubelet_->RestartContainer("default", "a", "main"));
}

}  // namespace
}  // namespace tessera
