// SPDX-License-Identifier: Apache-2.0
// GPUs shared by MPS: `tessera mps` beside the agent, as two containers have them, with programs in
// PATH that stand for NVIDIA's.
#include <unistd.h>

#include <csignal>

#include "agent_fixture.h"
#include "backend/nvidia/mps_status.h"
#include "base/text.h"
#include "nvml/nvidia_node.h"
#include "os/files.h"

namespace tessera {
namespace {

constexpr char kGpu[] = "nvidia.com/gpu";
constexpr char kOther[] = "nvidia.com/other";
constexpr char kShared[] =
    "  - name: nvidia.com/gpu\n"
    "    policy: mps\n"
    "    replicas: 2\n"
    "    strategies: [envvar]\n"
    "    nvidia: {mps: {sizes: [{index: 1, memory: 8192}]}}\n";
constexpr char kTwo[] =
    "  - {name: nvidia.com/other, policy: mps, replicas: 4, nvidia: {select: [{index: 0}]}}\n"
    "  - {name: nvidia.com/gpu, policy: mps, replicas: 2, nvidia: {}}\n";

constexpr char kLast[] = "nvidia.com/last";
// GPU 7 for that one, and these for the other of the others.
std::string Three(const std::string& others) {
  return "  - {name: nvidia.com/last, policy: mps, replicas: 2, nvidia: {select: [{index: 7}]}}\n"
         "  - {name: nvidia.com/other, policy: mps, replicas: 4, nvidia: {select: [" +
         others +
         "]}}\n"
         "  - {name: nvidia.com/gpu, policy: mps, replicas: 2, nvidia: {}}\n";
}

class MpsTest : public AgentTest {
 protected:
  MpsTest() : node_(dir_ + "/node", "8xa100") {
    EXPECT_TRUE(os::MakeDirectories(bin_));
    for (const char* name : {"control", "server"}) {
      EXPECT_EQ(symlink(TESSERA_FAKE_MPS, (bin_ + "/nvidia-cuda-mps-" + name).c_str()), 0);
    }
    const std::string smi = bin_ + "/nvidia-smi";
    EXPECT_TRUE(
        os::WriteFileAtomically(smi, "#!/bin/sh\necho \"$@\" >> " + dir_ + "/smi.log\n", 0755));
    EXPECT_EQ(symlink(".", (node_.directory() + "/driver-root").c_str()), 0);
  }
  ~MpsTest() override {
    if (!HasFailure()) return;
    fprintf(stderr, "--- the log of tessera mps ---\n%s\n", MpsLog().c_str());
  }

  std::string OnNode() const { return "rootPrefix: " + node_.directory() + "\n"; }
  static std::vector<std::string> Path(const std::string& bin) {
    return {"/usr/bin/env", "PATH=" + bin + ":/usr/bin:/bin"};
  }
  void StartMps(std::vector<std::string> words = {}, std::vector<std::string> variables = {}) {
    std::vector<std::string> argv = Path(bin_);
    argv.insert(argv.end(), variables.begin(), variables.end());
    argv.insert(argv.end(), {Binary(), "mps", "--config", dir_ + "/tessera.yaml"});
    argv.insert(argv.end(), words.begin(), words.end());
    auto process = os::Process::Start(argv, dir_ + "/mps.log");
    ASSERT_TRUE(process);
    mps_ = *std::move(process);
  }
  // Kubelet, both programs, and all shares of both resources.
  void StartBoth(const std::string& resources) {
    WriteConfig(WithQuickChecks(Config(resources, OnNode())));
    StartMps();
    StartKubelet();
    agent_ = StartAgent();
  }
  std::string Directory(const std::string& resource = kGpu) const {
    return node_.directory() + "/run/nvidia/mps/" + resource;
  }
  std::string MpsLog() { return os::ReadFile(dir_ + "/mps.log").value_or(""); }
  bool AwaitMpsLog(const std::string& text) {
    return Await([&] { return MpsLog().find(text) != std::string::npos; });
  }
  nvidia::MpsStatus Word(const std::string& resource = kGpu) {
    const auto text = os::ReadFile(Directory(resource) + "/status.json");
    return text ? nvidia::ParseMpsStatus(*text).value_or(nvidia::MpsStatus()) : nvidia::MpsStatus();
  }
  bool AwaitReady(const std::string& resource) {
    return Await([&] { return Word(resource).state == nvidia::MpsState::kReady; });
  }
  // What the daemon was told, without the numbers of its servers.
  std::vector<std::string> Told(const std::string& resource = kGpu) {
    std::vector<std::string> lines;
    const std::string text = os::ReadFile(Directory(resource) + "/pipe/told.log").value_or("");
    for (const std::string& line : Split(std::string(Trim(text)), '\n')) {
      lines.push_back(line.substr(0, line.find(" server=")));
    }
    return lines;
  }
  static std::vector<std::string> CudaVariables(pid_t pid) {
    std::vector<std::string> variables =
        Split(os::ReadFile("/proc/" + std::to_string(pid) + "/environ").value_or(""), '\0');
    std::erase_if(variables, [](const std::string& each) { return !each.starts_with("CUDA_"); });
    std::ranges::sort(variables);
    return variables;
  }
  pid_t LastServer() {
    const std::string text = os::ReadFile(Directory() + "/pipe/told.log").value_or("");
    return std::atoi(text.c_str() + text.rfind("server=") + 7);
  }
  // One that has ended and that nobody has waited for yet has no words.
  static bool Runs(pid_t pid) {
    return !os::ReadFile("/proc/" + std::to_string(pid) + "/cmdline").value_or("").empty();
  }
  // Whether a GPU of the resource was healthy and then was not.
  bool Fell(const std::string& resource) {
    for (const std::string& line : Split(Log(), '\n')) {
      const bool out = line.find("device unhealthy device=" + resource + "/") != line.npos;
      if (out && line.find(" from=healthy ") != line.npos) return true;
    }
    return false;
  }
  size_t Starts(const std::string& resource = kGpu) {
    return static_cast<size_t>(std::ranges::count_if(
        Told(resource), [](const std::string& line) { return line.starts_with("start "); }));
  }
  std::vector<std::string> Smi() {
    const std::string text = os::ReadFile(dir_ + "/smi.log").value_or("");
    return Split(std::string(Trim(text)), '\n');
  }
  // Since there were so many words to nvidia-smi: all of so many GPUs are let go of before any of
  // as many is taken.
  void ExpectLetGoFirst(size_t before, size_t gpus) {
    std::vector<std::string> modes = Smi();
    modes.erase(modes.begin(), modes.begin() + static_cast<std::ptrdiff_t>(before));
    ASSERT_EQ(modes.size(), 2 * gpus);
    for (size_t i = 0; i < modes.size(); ++i) {
      EXPECT_TRUE(modes[i].ends_with(i < gpus ? " -c DEFAULT" : " -c EXCLUSIVE_PROCESS"))
          << modes[i];
    }
  }
  std::string Uuid(size_t gpu) const { return node_.hardware().gpus[gpu].uuid; }
  std::string ReasonOf(size_t gpu) {
    return json::GetString(DeviceOn(Page("/inventory"), Uuid(gpu)), "reason").value_or("");
  }

  NvidiaNode node_;
  const std::string bin_ = dir_ + "/bin";
  os::Process mps_;
};

TEST_F(MpsTest, AContainerReachesTheDaemonWhichWasToldEachGpusSize) {
  StartBoth(kShared);
  Expect(kGpu, 16, 16);

  const kubelet::Admission pod = Run("a", {{kGpu, 1}});

  ASSERT_TRUE(pod.admitted) << pod.message;
  const std::string& id = pod.grants[0].ids[0];
  Grant wanted;
  wanted.envs = {{"CUDA_MPS_PIPE_DIRECTORY", "/mps/nvidia.com/gpu/pipe"},
                 {"NVIDIA_VISIBLE_DEVICES", id.substr(0, id.find("::"))}};
  wanted.mounts = {
      {.host_path = "/run/nvidia/mps/nvidia.com/gpu/pipe",
       .container_path = "/mps/nvidia.com/gpu/pipe",
       .read_only = false},
      {.host_path = "/run/nvidia/mps/shm", .container_path = "/dev/shm", .read_only = false}};
  EXPECT_EQ(pod.grants[0].response, wanted);
  std::vector<std::string> told = {"start CUDA_VISIBLE_DEVICES="};
  std::vector<std::string> smi;
  for (size_t i = 0; i < 8; ++i) {
    told.push_back(
        fmt::format("set_default_device_pinned_mem_limit {} {}M", i, i == 1 ? 8192 : 40960));
    smi.push_back(fmt::format("-i {} -c EXCLUSIVE_PROCESS", Uuid(i)));
  }
  told.emplace_back("set_default_active_thread_percentage 50");
  EXPECT_EQ(Told(), told);
  EXPECT_EQ(Smi(), smi);
  EXPECT_TRUE(os::Exists(Directory() + "/.started"));
  EXPECT_TRUE(Await([&] { return os::Exists(node_.directory() + "/run/nvidia/mps/.ready"); }));
}

TEST_F(MpsTest, WithoutTheDaemonNoGpuIsOffered) {
  WriteConfig(Config(kShared, OnNode()));
  StartKubelet();
  agent_ = StartAgent();

  Expect(kGpu, 16, 0);
  EXPECT_EQ(ReasonOf(0), "mps-down");

  StartMps();
  Expect(kGpu, 16, 16);
}

TEST_F(MpsTest, ADaemonThatIsKilledIsStartedAgainAndThePodsThatItServedAreNamed) {
  StartBoth(kTwo);
  Expect(kGpu, 14, 14);
  Expect(kOther, 4, 4);
  ASSERT_TRUE(Run("a", {{kGpu, 1}}).admitted);
  ASSERT_TRUE(Run("b", {{kOther, 1}}).admitted);
  ASSERT_TRUE(LedgerKnows("a"));
  ASSERT_TRUE(LedgerKnows("b"));
  const pid_t server = LastServer();
  const nvidia::MpsStatus other = Word(kOther);

  ASSERT_EQ(kill(Word().pid, SIGKILL), 0);

  EXPECT_TRUE(
      AwaitLog("pods may have lost MPS: start them anew where their CUDA calls fail "
               "resource=nvidia.com/gpu pods=default/a\n"));
  EXPECT_TRUE(Await([&] { return Starts() == 2; }));
  Expect(kGpu, 14, 14);
  EXPECT_FALSE(Runs(server));
  EXPECT_EQ(Word(kOther).pid, other.pid);
  EXPECT_EQ(Log().find("resource=nvidia.com/other pods="), std::string::npos);
  EXPECT_TRUE(Fell(kGpu));
  EXPECT_FALSE(Fell(kOther));
}

TEST_F(MpsTest, ADaemonThatHangsIsStartedAgain) {
  StartBoth(kTwo);
  Expect(kGpu, 14, 14);
  Expect(kOther, 4, 4);
  const pid_t first = Word().pid;
  const pid_t other = Word(kOther).pid;

  ASSERT_TRUE(os::ReplaceFile(Directory() + "/pipe/hang", ""));
  EXPECT_TRUE(AwaitMpsLog("it does not answer, asked 3 times"));
  Expect(kGpu, 14, 0);
  EXPECT_EQ(Status(kOther).allocatable, 4);
  ASSERT_TRUE(os::RemoveFile(Directory() + "/pipe/hang"));

  Expect(kGpu, 14, 14);
  EXPECT_NE(Word().pid, first);
  EXPECT_FALSE(Runs(first));
  EXPECT_EQ(Word(kOther).pid, other);
}

TEST_F(MpsTest, ADaemonThatCannotBeStartedSaysWhy) {
  ASSERT_TRUE(os::MakeDirectories(Directory() + "/pipe"));
  ASSERT_TRUE(os::ReplaceFile(Directory() + "/pipe/refuse", ""));
  StartBoth(kShared);
  Expect(kGpu, 16, 0);
  EXPECT_TRUE(AwaitPage("/inventory", [&](const json::Object& page) {
    return json::GetString(DeviceOn(page, Uuid(0)), "detail") ==
           "the MPS control daemon is down: it cannot be started: nvidia-cuda-mps-control ended "
           "with 1: \"cannot start: refused\"";
  }));

  ASSERT_TRUE(os::RemoveFile(Directory() + "/pipe/refuse"));
  Expect(kGpu, 16, 16);
}

TEST_F(MpsTest, ASupervisorThatIsKilledFindsItsDaemonAgain) {
  StartBoth(kShared);
  Expect(kGpu, 16, 16);
  const pid_t daemon = Word().pid;

  mps_.Signal(SIGKILL);
  mps_.Wait();
  StartMps();

  EXPECT_TRUE(AwaitMpsLog("MPS runs already and is kept"));
  EXPECT_EQ(Word().pid, daemon);
  EXPECT_EQ(Starts(), 1U);
  EXPECT_EQ(Status(kGpu).allocatable, 16);
  EXPECT_FALSE(Fell(kGpu));
}

TEST_F(MpsTest, ADaemonThatIsLeftRunningIsTakenOverByTheNext) {
  WriteConfig(Config(kShared, OnNode()));
  StartMps({"--leave-running"});
  ASSERT_TRUE(Await([&] { return Word().state == nvidia::MpsState::kReady; }));
  const pid_t daemon = Word().pid;

  mps_.Signal(SIGTERM);
  EXPECT_EQ(mps_.Wait(), 0);
  StartMps();

  EXPECT_TRUE(AwaitMpsLog("MPS runs already and is kept"));
  EXPECT_EQ(Word().pid, daemon);
}

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

  // Other times, and a choice of GPUs in other words.
  std::string other = kShared;
  other.replace(other.find("{mps: {"), 1, "{select: [{model: \"*A100*\"}], ");
  WriteConfig(WithQuickChecks(Config(other, OnNode())));

  EXPECT_TRUE(AwaitMpsLog("MPS runs already and is kept"));
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

TEST_F(MpsTest, AGpuThatIsSlowAtFirstIsWaitedFor) {
  node_.SetFaults("gpus: {3: {hang: [nvmlDeviceGetUUID]}, 5: {fail: {nvmlDeviceGetUUID: 999}}}");
  WriteConfig(Config(kShared, OnNode()));
  StartMps();
  ASSERT_TRUE(AwaitMpsLog("NVML opened"));
  node_.SetFaults("");

  ASSERT_TRUE(AwaitReady(kGpu));
  EXPECT_EQ(Word().served.size(), 8U);
  EXPECT_EQ(Starts(), 1U);
}

TEST_F(MpsTest, AGpuThatDoesNotAnswerCostsNoOtherAndIsTakenInWhenNobodyUsesMps) {
  node_.SetFaults("gpus: {3: {hang: [nvmlDeviceGetUUID]}, 5: {fail: {nvmlDeviceGetUUID: 999}}}");
  WriteConfig(WithQuickChecks(Config(kShared, OnNode())));
  StartMps();
  ASSERT_TRUE(AwaitReady(kGpu));
  EXPECT_EQ(Word().served.size(), 6U);
  EXPECT_TRUE(AwaitMpsLog("GPU 3 does not answer within 10.0 s: look at it with 'nvidia-smi'"));
  EXPECT_TRUE(AwaitMpsLog("GPU 5 cannot be read: nvmlDeviceGetUUID"));
  const pid_t daemon = Word().pid;
  ASSERT_TRUE(os::ReplaceFile(Directory() + "/pipe/clients", "4711\n"));

  node_.SetFaults("");
  ASSERT_TRUE(Await([&] { return Word().refused.size() == 2; }));
  EXPECT_EQ(Word().pid, daemon);

  ASSERT_TRUE(os::RemoveFile(Directory() + "/pipe/clients"));
  EXPECT_TRUE(Await([&] { return Word().served.size() == 8; }));
  EXPECT_EQ(Told().size(), 2 * 10U - 2 + 1);  // the starts, the sizes, and a "quit" between
}

TEST_F(MpsTest, TheDaemonHasNoVariableOfCudaThatIsNotMeantForIt) {
  WriteConfig(Config(kTwo, OnNode()));
  StartMps({}, {"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=10", "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=1G",
                "CUDA_VISIBLE_DEVICES=7", "CUDA_MPS_PIPE_DIRECTORY=/tmp/nvidia-mps"});
  ASSERT_TRUE(Await([&] { return Word(kOther).state == nvidia::MpsState::kReady; }));

  EXPECT_EQ(CudaVariables(Word(kOther).pid),
            (std::vector<std::string>{"CUDA_MPS_LOG_DIRECTORY=" + Directory(kOther) + "/log",
                                      "CUDA_MPS_PIPE_DIRECTORY=" + Directory(kOther) + "/pipe",
                                      "CUDA_VISIBLE_DEVICES=" + Uuid(0)}));
}

TEST_F(MpsTest, AnAgentThatIsReplacedLeavesTheDaemonAlone) {
  StartBoth(kShared);
  Expect(kGpu, 16, 16);
  ASSERT_TRUE(Run("a", {{kGpu, 1}}).admitted);
  const pid_t daemon = Word().pid;
  const pid_t server = LastServer();
  const std::vector<std::string> told = Told();
  ASSERT_TRUE(AwaitSaved(8));

  EndAgent(SIGTERM, kGpu);
  EXPECT_TRUE(Runs(server));
  agent_ = StartAgent();

  Expect(kGpu, 16, 16);
  EXPECT_TRUE(LedgerKnows("a"));
  EXPECT_EQ(Word().pid, daemon);
  EXPECT_TRUE(Runs(server));
  EXPECT_EQ(Told(), told);
}

TEST_F(MpsTest, AtItsEndTheDaemonQuitsAndGpusAreForAllAgain) {
  StartBoth(kShared);
  Expect(kGpu, 16, 16);

  mps_.Signal(SIGTERM);
  EXPECT_EQ(mps_.Wait(), 0);

  EXPECT_EQ(Told().back(), "quit");
  std::vector<std::string> smi = Smi();
  ASSERT_EQ(smi.size(), 16U);
  EXPECT_TRUE(smi.back().ends_with(" -c DEFAULT")) << smi.back();
  EXPECT_FALSE(os::Exists(Directory() + "/status.json"));
  EXPECT_FALSE(os::Exists(Directory() + "/log"));
  Expect(kGpu, 16, 0);
}

TEST_F(MpsTest, NvidiasConfigurationServesBothPrograms) {
  const std::string file = dir_ + "/config.yaml";
  ASSERT_TRUE(os::ReplaceFile(
      file, "sharing: {mps: {resources: [{name: nvidia.com/gpu, replicas: 4}]}}\n"));
  const auto start = [&](const std::string& name, std::vector<std::string> variables) {
    const std::string program = dir_ + "/" + name;
    EXPECT_EQ(symlink(Binary().c_str(), program.c_str()), 0);
    std::vector<std::string> argv = Path(bin_);
    argv.insert(argv.end(), {"CONFIG_FILE=" + file, "TESSERA_ROOT_PREFIX=" + node_.directory(),
                             "TESSERA_HEALTH_CHECK_INTERVAL=100ms"});
    argv.insert(argv.end(), variables.begin(), variables.end());
    argv.push_back(program);
    auto process = os::Process::Start(argv, dir_ + "/" + name + ".log");
    EXPECT_TRUE(process);
    return *std::move(process);
  };
  mps_ = start("mps-control-daemon", {});
  StartKubelet();
  agent_ = start(
      "nvidia-device-plugin",
      {"MPS_ROOT=/run/nvidia/mps",
       "KUBELET_SOCKET=" + dir_ + "/kubelet/device-plugins/kubelet.sock",
       "TESSERA_STATE_DIR=" + dir_ + "/state", "TESSERA_CONTROL_SOCKET=" + dir_ + "/agent.sock",
       "TESSERA_HTTP_ADDRESS=off", "TESSERA_HEALTH_RECOVERY=200ms"});
  Expect(kGpu, 32, 32);

  const kubelet::Admission one = Run("a", {{kGpu, 1}});
  const kubelet::Admission two = Run("b", {{kGpu, 2}});

  ASSERT_TRUE(one.admitted) << one.message;
  EXPECT_EQ(one.grants[0].response.envs.at("CUDA_MPS_PIPE_DIRECTORY"), "/mps/nvidia.com/gpu/pipe");
  EXPECT_EQ(one.grants[0].response.mounts[0].host_path, "/run/nvidia/mps/nvidia.com/gpu/pipe");
  EXPECT_FALSE(two.admitted);
  EXPECT_TRUE(os::Exists(node_.directory() + "/mps/nvidia.com/gpu/pipe/control"));
}

}  // namespace
}  // namespace tessera
