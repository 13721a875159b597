// SPDX-License-Identifier: Apache-2.0
// GPUs shared by MPS, for tests: `tessera mps` next to the agent, as in two containers. Programs in
// PATH stand for NVIDIA's.
#pragma once

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "agent_fixture.h"
#include "backend/nvidia/mps/status.h"
#include "base/text.h"
#include "nvml/nvidia_node.h"
#include "os/fd.h"
#include "os/files.h"

namespace tessera {

inline constexpr char kOther[] = "nvidia.com/other";
inline constexpr char kShared[] =
    "  - name: nvidia.com/gpu\n"
    "    policy: mps\n"
    "    replicas: 2\n"
    "    strategies: [envvar]\n"
    "    nvidia: {mps: {sizes: [{index: 1, memory: 8192}]}}\n";
inline constexpr char kTwo[] =
    "  - {name: nvidia.com/other, policy: mps, replicas: 4, nvidia: {select: [{index: 0}]}}\n"
    "  - {name: nvidia.com/gpu, policy: mps, replicas: 2, nvidia: {}}\n";

inline constexpr char kLast[] = "nvidia.com/last";
// Three resources: kLast with GPU 7, kOther with the GPUs `others`, and kGpu.
inline std::string Three(const std::string& others) {
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
  // Starts `tessera mps`, kubelet and the agent with these resources.
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
  // The fake daemon's log: its start and its commands, without its servers' pids.
  std::vector<std::string> Told(const std::string& resource = kGpu) {
    std::vector<std::string> lines;
    const std::string text = os::ReadFile(Directory(resource) + "/told.log").value_or("");
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
    const std::string text = os::ReadFile(Directory() + "/told.log").value_or("");
    return std::atoi(text.c_str() + text.rfind("server=") + 7);
  }
  // A zombie has an empty command line.
  static bool Runs(pid_t pid) {
    return !os::ReadFile("/proc/" + std::to_string(pid) + "/cmdline").value_or("").empty();
  }
  static std::string FirstWordOf(pid_t pid) {
    return Split(os::ReadFile("/proc/" + std::to_string(pid) + "/cmdline").value_or(""), '\0')[0];
  }
  // Starts a daemon's program with its arguments, as a user without rights. It waits for its input.
  static pid_t StartAsAnother(const std::string& pipe) {
    const os::Fd program(open(TESSERA_FAKE_MPS, O_RDONLY | O_CLOEXEC));
    int input[2] = {-1, -1};
    EXPECT_EQ(pipe2(input, 0), 0);
    const os::Fd reading(input[0]);
    const os::Fd writing(input[1]);
    const pid_t child = fork();
    if (child != 0) return child;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(input[0], STDIN_FILENO);
    std::string variable = "CUDA_MPS_PIPE_DIRECTORY=" + pipe;
    std::string words[] = {"nvidia-cuda-mps-control", "-x", "-d"};
    char* argv[] = {words[0].data(), words[1].data(), words[2].data(), nullptr};
    char* environment[] = {variable.data(), nullptr};
    if (setresuid(12345, 12345, 12345) == 0) fexecve(program.get(), argv, environment);
    _exit(127);
  }
  // Whether a GPU of the resource was healthy and then became unhealthy.
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
  // After `before` calls of nvidia-smi: all of `gpus` GPUs were released before the first of as
  // many was taken.
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

}  // namespace tessera
