// SPDX-License-Identifier: Apache-2.0
// The agent's saved state, and the agent while it cannot save.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "agent_fixture.h"
#include "os/fd.h"
#include "os/files.h"

namespace tessera {
namespace {

using Texts = std::vector<std::string>;

class MemoryTest : public AgentTest {
 protected:
  // Starts an agent on a machine with this boot id.
  os::Process StartOnBoot(const std::string& boot_id) {
    EXPECT_TRUE(os::WriteFileAtomically(dir_ + "/boot_id", boot_id + "\n"));
    return StartAgent(WithMounts("mount --bind " + dir_ + "/boot_id " + kBootId));
  }
  // The boot id of the saved verdicts.
  std::string SavedBoot() {
    const std::string log = os::ReadFile(dir_ + "/state/verdicts.jsonl").value_or("");
    auto header = json::Parse(log.substr(0, log.find('\n')));
    if (!header || !header->is_object()) return "none";
    return json::GetString(header->get_object(), "bootId").value_or("none");
  }
  // Good verdicts are saved within a second.
  bool AwaitSavedBoot(const std::string& id) {
    return Await([&] { return SavedBoot() == id; });
  }
  // Waits for the device's detail on the inventory page. A new agent's socket may come after its
  // first list.
  bool AwaitDetail(const std::string& device, const std::string& detail) {
    return AwaitPage("/inventory", [&](const json::Object& page) {
      return json::GetString(DeviceOn(page, device), "detail") == detail;
    });
  }

  static constexpr char kBootId[] = "/proc/sys/kernel/random/boot_id";
};

TEST_F(MemoryTest, ACordonOutlivesTheBoot) {
  if (!WhyNoMounts().empty()) GTEST_SKIP() << WhyNoMounts();
  WriteConfig(Config(kFour));
  StartKubelet();
  agent_ = StartOnBoot("one");
  Expect(kNpu, 4, 4);
  ASSERT_TRUE(Order("/cordon", {{"device", "3"}, {"reason", "loud fan"}}));
  EXPECT_TRUE(AwaitSavedBoot("one"));

  EndAgent(SIGKILL);
  agent_ = StartOnBoot("two");

  Expect(kNpu, 4, 3);
  EXPECT_TRUE(AwaitDetail("3", "cordoned: loud fan"));
  EXPECT_TRUE(AwaitSavedBoot("two"));
}

TEST_F(MemoryTest, AVerdictDoesNotOutliveTheBoot) {
  if (!WhyNoMounts().empty()) GTEST_SKIP() << WhyNoMounts();
  WriteConfig(WithRecovery(Config(kFour), "1h"));
  StartKubelet();
  agent_ = StartOnBoot("one");
  Expect(kNpu, 4, 4);
  Fault("fail", "3", "on fire");
  Expect(kNpu, 4, 3);

  EndAgent(SIGKILL);
  SetFaults({});
  agent_ = StartOnBoot("two");

  Expect(kNpu, 4, 4);  // an hour too early for a recovery
}

TEST_F(MemoryTest, TheSecondInstanceTakesTheCordonsOverWhenTheFirstEnds) {
  StartAll(kFour);
  Expect(kNpu, 4, 4);
  os::Process second = StartAgent();
  ASSERT_TRUE(AwaitLog("this instance does not write the state"));
  ASSERT_TRUE(AwaitRegistrations(kNpu, 2));
  ASSERT_TRUE(Order("/cordon", {{"device", "3"}, {"reason", "loud fan"}}));

  agent_.Signal(SIGKILL);
  agent_.Wait();
  agent_ = std::move(second);

  ASSERT_TRUE(AwaitPage("/inventory", [](const json::Object& page) {
    const json::Object* agent = json::GetObject(page, "agent");
    return agent != nullptr && json::GetBool(*agent, "writer").value_or(false);
  }));
  Expect(kNpu, 4, 3);
  EXPECT_TRUE(AwaitDetail("3", "cordoned: loud fan"));
}

TEST_F(MemoryTest, TheFirstListAfterAKillSaysWhatTheLastOneSaid) {
  WriteConfig(WithRecovery(Config(kFour), "1h"));
  StartKubelet();
  agent_ = StartAgent();
  ListsUntil(ListOf(4, 4));
  ASSERT_TRUE(AwaitSaved(4));
  SetFaults({{"2", {{"fail", "on fire"}}}});
  ListsUntil(ListOf(3, 4));

  agent_.Signal(SIGKILL);
  agent_.Wait();
  // The device's fault is gone: only the verdict that was saved before the list can show it.
  SetFaults({});
  agent_ = StartAgent();

  EXPECT_EQ(ListsUntil(ListOf(3, 4)), Texts{ListOf(3, 4)});
  EXPECT_TRUE(AwaitDetail("2", "on fire"));
}

TEST_F(MemoryTest, DevicesThatBreakWhileTheAgentIsAwayAreUnhealthyInItsFirstList) {
  StartAll(kFour);
  ListsUntil(ListOf(4, 4));
  ASSERT_TRUE(AwaitSaved(4));

  EndAgent(SIGKILL);
  SetFaults({{"0", {{"fail", "on fire"}}}, {"2", {{"fail", "wet"}}}, {"3", {{"fail", "old"}}}});
  agent_ = StartAgent();

  EXPECT_EQ(ListsUntil(ListOf(1, 4)), Texts{ListOf(1, 4)});
}

TEST_F(MemoryTest, AStateThatIsNoneIsSetAsideAndCostsNoService) {
  ASSERT_TRUE(os::MakeDirectories(dir_ + "/state"));
  const Texts files = {dir_ + "/state/state.jsonl", dir_ + "/state/verdicts.jsonl"};
  for (const std::string& file : files) {
    ASSERT_TRUE(os::WriteFileAtomically(file, std::string("\0\xff{]", 4)));
  }

  StartAll(kFour);

  Expect(kNpu, 4, 4);
  EXPECT_TRUE(Run("a", {{kNpu, 1}}).admitted);
  const std::string log = Log();
  for (const std::string& file : files) {
    EXPECT_NE(log.find("WARN the saved state is not used reason=state-corrupt error=\"" + file +
                       ": line 1 has no end\" advice=\"the state could not be read; it was set "
                       "aside, and devices are checked again\"\n"),
              std::string::npos);
    EXPECT_TRUE(os::Exists(file + ".corrupt"));
  }
  EXPECT_EQ(MetricNow(R"(tessera_unusable_files_total{reason="state-corrupt"})"), 2);
}

TEST_F(MemoryTest, OfATornStateOnlySickDevicesAreBelievedAndThatIsTold) {
  WriteConfig(WithRecovery(Config(kFour), "1h"));
  StartKubelet();
  agent_ = StartAgent();
  Expect(kNpu, 4, 4);
  const kubelet::Admission pod = Run("a", {{kNpu, 1}});
  ASSERT_TRUE(pod.admitted) << pod.message;
  Fault("fail", "3", "on fire");
  Expect(kNpu, 4, 3);
  EndAgent(SIGKILL);
  SetFaults({});
  const std::string file = dir_ + "/state/verdicts.jsonl";
  const std::string whole = os::ReadFile(file).value_or("");
  ASSERT_TRUE(whole.ends_with("\n"));
  ASSERT_TRUE(os::WriteFileAtomically(file, whole + R"({"source":"dummy)"));
  (void)EventsSoFar(kubelet::KubeletEvent::Kind::kList);

  const Steady ended = SystemClock().Now();
  agent_ = StartAgent();

  ExpectSoon(kNpu, 4, 3, ended);
  EXPECT_EQ(OffersUntil(ListOf(3, 4)), Texts{ListOf(3, 4)});
  EXPECT_EQ(kubelet_->GrantsOf("default", "a")[0].ids, pod.grants[0].ids);
  const auto lines = std::count(whole.begin(), whole.end(), '\n');
  EXPECT_EQ(LinesWith(fmt::format("WARN only the unhealthy devices of the saved state are used "
                                  "path={} reason=state-corrupt error=\"line {} has no end\"\n",
                                  file, lines + 1)),
            1u);
  EXPECT_TRUE(AwaitMetric(R"(tessera_unusable_files_total{reason="state-corrupt"})", 1));
}

TEST_F(MemoryTest, AFullDiskCostsNoServiceAndIsWrittenToOnceThereIsRoom) {
  if (!WhyNoMounts().empty()) GTEST_SKIP() << WhyNoMounts();
  ASSERT_TRUE(os::MakeDirectories(dir_ + "/state"));
  // So many devices that their verdicts do not fit into the rest of the log's last page.
  WriteConfig(Config("  - {name: dummy.com/npu, dummy: {count: 64, faultFile: " + dir_ +
                     "/faults/npu.json}}\n"));
  StartKubelet();
  agent_ = StartAgent(WithMounts("mount -t tmpfs -o size=256k tmpfs " + dir_ + "/state"));
  Expect(kNpu, 64, 64);
  const std::string rest = "/proc/" + std::to_string(agent_.pid()) + "/root" + dir_ + "/state/rest";
  os::Fd fd(open(rest.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  while (write(fd.get(), std::string(4096, 'x').data(), 4096) > 0) {
  }
  ASSERT_EQ(errno, ENOSPC);

  Fault("lose-all");
  Expect(kNpu, 64, 0);
  Fault("restore");
  Expect(kNpu, 64, 64);
  EXPECT_TRUE(Run("a", {{kNpu, 1}}).admitted);
  // Each of these fails to save, and then every tick does.
  EXPECT_TRUE(AwaitMetric(R"(tessera_state_writes_total{result="failed"})", 12));
  fd.Reset();
  ASSERT_TRUE(os::RemoveFile(rest));

  EXPECT_TRUE(AwaitLog("the state is saved again"));
  const std::string log = Log();
  const std::string line = "cannot save the state reason=";
  size_t first = log.find(line);
  EXPECT_NE(first, std::string::npos);
  EXPECT_EQ(log.find(line, first + 1), std::string::npos);
  EXPECT_NE(log.find("No space left on device"), std::string::npos);
}

TEST_F(MemoryTest, AStateDirectoryThatCannotBeMadeCostsNoServiceAndIsMadeOnceItCan) {
  ASSERT_TRUE(os::WriteFileAtomically(dir_ + "/state", "in the way"));
  WriteConfig(Config("  - {name: dummy.com/npu, dummy: {count: 4, faultFile: " + dir_ +
                     "/faults/npu.json}}\n"));
  StartKubelet();
  agent_ = StartAgent();
  Expect(kNpu, 4, 4);
  EXPECT_TRUE(Run("a", {{kNpu, 1}}).admitted);
  EXPECT_TRUE(AwaitLog("this instance does not write the state directory=" + dir_ +
                       "/state reason=io error=\"cannot make directory " + dir_ +
                       "/state: File exists\""));

  ASSERT_TRUE(os::RemoveFile(dir_ + "/state"));

  EXPECT_TRUE(AwaitMetric(R"(tessera_state_writes_total{result="good"})", 2));
  const std::string facts = os::ReadFile(dir_ + "/state/state.jsonl").value_or("");
  EXPECT_EQ(std::count(facts.begin(), facts.end(), '\n'), 1 + 4 + 1);  // version, devices, policy
}

TEST_F(MemoryTest, AReadOnlyStateDirectoryCostsNoServiceAndIsWrittenToOnceItCanBe) {
  if (!WhyNoMounts().empty()) GTEST_SKIP() << WhyNoMounts();
  ASSERT_TRUE(os::MakeDirectories(dir_ + "/state"));
  WriteConfig(Config("  - {name: dummy.com/npu, dummy: {count: 4, faultFile: " + dir_ +
                     "/faults/npu.json}}\n"));
  StartKubelet();
  agent_ = StartAgent(WithMounts("mount -t tmpfs -o ro tmpfs " + dir_ + "/state"));
  Expect(kNpu, 4, 4);
  EXPECT_TRUE(Run("a", {{kNpu, 1}}).admitted);
  Fault("fail", "3", "on fire");
  Expect(kNpu, 4, 3);
  EXPECT_TRUE(AwaitLog("WARN this instance does not write the state directory=" + dir_ +
                       "/state reason=io error=\"cannot open " + dir_ +
                       "/state/lock: Read-only file system\" advice="));
  EXPECT_EQ(MetricNow("tessera_state_writer"), 0);

  std::vector<std::string> remount = {"/usr/bin/nsenter", "--mount", "--target",
                                      std::to_string(agent_.pid())};
  if (geteuid() != 0) remount.insert(remount.end(), {"--user", "--preserve-credentials"});
  remount.insert(remount.end(), {"/bin/mount", "-o", "remount,rw", dir_ + "/state"});
  auto mount = os::Process::Start(remount, dir_ + "/mount.log");
  ASSERT_TRUE(mount);
  ASSERT_EQ(mount->Wait(), 0) << os::ReadFile(dir_ + "/mount.log").value_or("");

  EXPECT_TRUE(AwaitLog("INFO this instance now writes the state"));
  EXPECT_TRUE(AwaitMetric(R"(tessera_state_writes_total{result="good"})", 2));
}

}  // namespace
}  // namespace tessera
