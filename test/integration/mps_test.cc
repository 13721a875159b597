// SPDX-License-Identifier: Apache-2.0
// GPUs shared by MPS, and the life of their daemons.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "mps_fixture.h"
#include "os/unix_socket.h"

namespace tessera {
namespace {

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
       .read_only = true},
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
  // Until its first check a GPU is unverified.
  EXPECT_TRUE(NodeUnderTest::Await([&] { return ReasonOf(0) == "mps-down"; }));

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
      AwaitLog("pods may have lost MPS; restart those whose CUDA calls fail "
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

  ASSERT_TRUE(os::ReplaceFile(Directory() + "/hang", ""));
  EXPECT_TRUE(AwaitMpsLog("it did not answer 3 times"));
  Expect(kGpu, 14, 0);
  EXPECT_EQ(Status(kOther).allocatable, 4);
  ASSERT_TRUE(os::RemoveFile(Directory() + "/hang"));

  Expect(kGpu, 14, 14);
  EXPECT_NE(Word().pid, first);
  EXPECT_FALSE(Runs(first));
  EXPECT_EQ(Word(kOther).pid, other);
}

TEST_F(MpsTest, ASocketThatSomebodyRemovesIsPutBackAndTheDaemonGoesOn) {
  StartBoth(kShared);
  Expect(kGpu, 16, 16);
  const pid_t daemon = Word().pid;
  const std::string socket = Directory() + "/pipe/control";

  ASSERT_TRUE(os::RemoveFile(socket));
  EXPECT_TRUE(AwaitMpsLog("sockets of MPS were removed or replaced; they are restored"));
  const std::string link = dir_ + "/link";
  ASSERT_EQ(symlink("/nowhere", link.c_str()), 0);
  ASSERT_EQ(rename(link.c_str(), socket.c_str()), 0);
  EXPECT_TRUE(Await([&] { return os::IsListening(socket); }));

  EXPECT_EQ(Word().pid, daemon);
  EXPECT_EQ(Starts(), 1U);
  EXPECT_FALSE(Fell(kGpu));
}

TEST_F(MpsTest, WhatSomebodyHasPlantedIsGoneBeforeTheDaemonStarts) {
  const std::string host = dir_ + "/host";
  ASSERT_TRUE(os::ReplaceFile(host, "as it was"));
  ASSERT_TRUE(os::MakeDirectories(Directory() + "/pipe"));
  ASSERT_EQ(symlink(host.c_str(), (Directory() + "/pipe/log").c_str()), 0);

  WriteConfig(Config(kShared, OnNode()));
  StartMps();

  ASSERT_TRUE(AwaitReady(kGpu));
  EXPECT_EQ(os::ListDirectory(Directory() + "/pipe"), std::vector<std::string>{"control"});
  EXPECT_EQ(os::ReadFile(host), "as it was");
}

TEST_F(MpsTest, ADaemonThatCannotBeStartedSaysWhy) {
  ASSERT_TRUE(os::MakeDirectories(Directory()));
  ASSERT_TRUE(os::ReplaceFile(Directory() + "/refuse", ""));
  StartBoth(kShared);
  Expect(kGpu, 16, 0);
  EXPECT_TRUE(AwaitPage("/inventory", [&](const json::Object& page) {
    return json::GetString(DeviceOn(page, Uuid(0)), "detail") ==
           "the MPS control daemon is down: it cannot be started: nvidia-cuda-mps-control ended "
           "with 1: \"cannot start: refused\"";
  }));

  ASSERT_TRUE(os::RemoveFile(Directory() + "/refuse"));
  Expect(kGpu, 16, 16);
}

TEST_F(MpsTest, ASupervisorThatIsKilledFindsItsDaemonAgain) {
  StartBoth(kShared);
  Expect(kGpu, 16, 16);
  const pid_t daemon = Word().pid;

  mps_.Signal(SIGKILL);
  mps_.Wait();
  StartMps();

  EXPECT_TRUE(AwaitMpsLog("MPS already runs and is kept"));
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

  EXPECT_TRUE(AwaitMpsLog("MPS already runs and is kept"));
  EXPECT_EQ(Word().pid, daemon);
}

// Any process may take this name and set this variable.
TEST_F(MpsTest, AnotherProgramWithTheDaemonsNameIsLeftAlone) {
  const std::string same = "CUDA_MPS_PIPE_DIRECTORY=" + Directory() + "/pipe";
  auto other =
      os::Process::Start({"/usr/bin/env", same, "/bin/bash", "-c",
                          "exec -a nvidia-cuda-mps-control /bin/bash -c 'kill -STOP $$' -d"},
                         "");
  ASSERT_TRUE(other);
  ASSERT_TRUE(Await([&] { return FirstWordOf(other->pid()) == "nvidia-cuda-mps-control"; }));

  StartBoth(kShared);
  Expect(kGpu, 16, 16);
  mps_.Signal(SIGTERM);
  EXPECT_EQ(mps_.Wait(), 0);

  EXPECT_EQ(Starts(), 1U);
  EXPECT_EQ(MpsLog().find("MPS already runs"), std::string::npos);
  EXPECT_EQ(other->Poll(), std::nullopt);
}

TEST_F(MpsTest, TheDaemonsProgramOfAnotherUserIsLeftAlone) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can start another user's program";
  const pid_t other = StartAsAnother(Directory() + "/pipe");
  ASSERT_TRUE(Await([&] { return FirstWordOf(other) == "nvidia-cuda-mps-control"; }));

  StartBoth(kShared);
  Expect(kGpu, 16, 16);
  mps_.Signal(SIGTERM);
  EXPECT_EQ(mps_.Wait(), 0);

  EXPECT_EQ(Starts(), 1U);
  EXPECT_EQ(MpsLog().find("MPS already runs"), std::string::npos);
  EXPECT_EQ(waitpid(other, nullptr, WNOHANG), 0);
  kill(other, SIGKILL);
  waitpid(other, nullptr, 0);
}

// dpkg replaces a program in this way.
TEST_F(MpsTest, ADaemonWhoseProgramWasReplacedIsKept) {
  const auto put = [&] {
    for (const char* name : {"/nvidia-cuda-mps-control", "/nvidia-cuda-mps-server"}) {
      std::filesystem::copy_file(TESSERA_FAKE_MPS, bin_ + name + ".new");
      std::filesystem::rename(bin_ + name + ".new", bin_ + name);
    }
  };
  put();
  StartBoth(kShared);
  Expect(kGpu, 16, 16);
  const pid_t daemon = Word().pid;
  put();

  mps_.Signal(SIGKILL);
  mps_.Wait();
  StartMps();
  EXPECT_TRUE(AwaitMpsLog("MPS already runs and is kept"));
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
  ASSERT_TRUE(os::ReplaceFile(Directory() + "/clients", "4711\n"));

  node_.SetFaults("");
  ASSERT_TRUE(Await([&] { return Word().refused.size() == 2; }));
  EXPECT_EQ(Word().pid, daemon);

  ASSERT_TRUE(os::RemoveFile(Directory() + "/clients"));
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
