// SPDX-License-Identifier: Apache-2.0
// A new configuration while MPS daemons run.
#include "mps_fixture.h"

namespace tessera {
namespace {

TEST_F(MpsTest, OtherSizesStartItAnewAndThePodsThatItServedAreNamed) {
  StartBoth(kShared);
  Expect(kGpu, 16, 16);
  ASSERT_TRUE(Run("a", {{kGpu, 1}}).admitted);
  ASSERT_TRUE(LedgerKnows("a"));
  const pid_t daemon = Word().pid;

  std::string other = kShared;
  other.replace(other.find("8192"), 4, "4096");
  WriteConfig(WithQuickChecks(Config(other, OnNode())));

  EXPECT_TRUE(AwaitLog("pods may have lost MPS"));
  ASSERT_TRUE(
      Await([&] { return Word().pid != daemon && Word().state == nvidia::MpsState::kReady; }));
  EXPECT_EQ(Word().served.at(Uuid(1)), 4096);
  EXPECT_FALSE(Runs(daemon));
  Expect(kGpu, 16, 16);
}

TEST_F(MpsTest, AGpuThatGoesToAnotherResourceIsLetGoOfBeforeThatHasIt) {
  WriteConfig(Config(Three("{index: 0}"), OnNode()));
  StartMps();
  for (const char* name : {kGpu, kOther, kLast}) ASSERT_TRUE(AwaitReady(name)) << name;
  const pid_t gpu = Word().pid;
  const pid_t other = Word(kOther).pid;
  const nvidia::MpsStatus last = Word(kLast);
  const size_t before = Smi().size();

  WriteConfig(Config(Three("{index: 0}, {index: 1}"), OnNode()));

  ASSERT_TRUE(Await([&] { return Word(kOther).served.size() == 2; }));
  ASSERT_TRUE(Await([&] { return Word().served.size() == 5; }));
  EXPECT_FALSE(Runs(gpu));
  EXPECT_FALSE(Runs(other));
  EXPECT_EQ(Word(kLast).pid, last.pid);
  EXPECT_EQ(Starts(kLast), 1U);
  ExpectLetGoFirst(before, 7);
}

TEST_F(MpsTest, AnotherNameOfTheResourceEndsItsDaemonBeforeTheNextStarts) {
  WriteConfig(Config(kShared, OnNode()));
  StartMps();
  ASSERT_TRUE(AwaitReady(kGpu));
  const pid_t daemon = Word().pid;
  const size_t before = Smi().size();

  std::string other = kShared;
  other.replace(other.find(kGpu), sizeof kGpu - 1, kOther);
  WriteConfig(Config(other, OnNode()));

  ASSERT_TRUE(AwaitReady(kOther));
  EXPECT_FALSE(Runs(daemon));
  EXPECT_EQ(Told().back(), "quit");
  ExpectLetGoFirst(before, 8);
  EXPECT_FALSE(os::Exists(Directory() + "/status.json"));
}

TEST_F(MpsTest, AnotherDirectoryEndsTheDaemonOfTheFormerOne) {
  WriteConfig(Config(kShared, OnNode()));
  StartMps();
  const std::string ready = node_.directory() + "/run/nvidia/mps/.ready";
  ASSERT_TRUE(Await([&] { return os::Exists(ready); }));
  const pid_t daemon = Word().pid;

  std::string other = kShared;
  other.replace(other.find("{mps: {"), 7, "{mps: {hostRoot: /run/mps, ");
  WriteConfig(Config(other, OnNode()));

  const std::string root = node_.directory() + "/run/mps/";
  ASSERT_TRUE(Await([&] { return os::Exists(root + ".ready"); }));
  EXPECT_FALSE(Runs(daemon));
  EXPECT_FALSE(os::Exists(ready));
  EXPECT_TRUE(os::Exists(root + kGpu + "/pipe/control"));
}

TEST_F(MpsTest, AConfigurationThatChangesNothingOfADaemonLeavesItAlone) {
  WriteConfig(Config(kShared, OnNode()));
  StartMps();
  ASSERT_TRUE(AwaitReady(kGpu));
  const pid_t daemon = Word().pid;
  const std::vector<std::string> told = Told();

  // Other times, and the same GPUs chosen by another selector.
  std::string other = kShared;
  other.replace(other.find("{mps: {"), 1, "{select: [{model: \"*A100*\"}], ");
  WriteConfig(WithQuickChecks(Config(other, OnNode())));

  EXPECT_TRUE(AwaitMpsLog("MPS already runs and is kept"));
  EXPECT_EQ(Word().pid, daemon);
  EXPECT_EQ(Told(), told);
}

TEST_F(MpsTest, AConfigurationThatIsBrokenLeavesTheDaemonsAlone) {
  WriteConfig(Config(kShared, OnNode()));
  StartMps();
  ASSERT_TRUE(AwaitReady(kGpu));
  const pid_t daemon = Word().pid;

  WriteConfig("resources: [{name: nvidia.com/gpu, policy: msp}]\n");

  EXPECT_TRUE(AwaitMpsLog("the new configuration is not used, the former one stays"));
  const Steady answered = Word().answered;
  EXPECT_TRUE(Await([&] { return Word().answered > answered; }));
  EXPECT_EQ(Word().pid, daemon);
  EXPECT_EQ(Starts(), 1U);
}

}  // namespace
}  // namespace tessera
