// SPDX-License-Identifier: Apache-2.0
#include "mps/supervisor.h"

#include <gtest/gtest.h>

#include <deque>
#include <vector>

#include "base/log.h"

namespace tessera::mps {
namespace {

using nvidia::MpsState;
using nvidia::MpsStatus;
using Texts = std::vector<std::string>;

constexpr char kGpu[] = "nvidia.com/gpu";
const Error kNoAnswer{Reason::kTimedOut, "nvidia-cuda-mps-control did not end within 2.0 s"};

// A machine without faults, unless a test sets one.
class FakeControl : public MpsControl {
 public:
  Result<Sizes> ReadSizes() override { return sizes; }
  Result<MpsStatus> ReadStatus() override { return last; }
  void WriteStatus(const MpsStatus& status) override { said.push_back(status); }
  std::string Boot() override { return "boot"; }
  std::optional<pid_t> Find() override {
    return running == 0 ? std::nullopt : std::optional(running);
  }
  bool IsAlive(pid_t daemon) override { return running == daemon; }
  Status SetExclusive(const std::string& gpu, bool exclusive) override {
    if (gpu == stubborn) return Fail(Reason::kPermission, "its compute mode stays");
    done.push_back((exclusive ? "exclusive " : "default ") + gpu);
    return {};
  }
  Result<pid_t> Start(const Sizes& started) override {
    done.push_back("start " + VisibleDevices(started));
    if (start_fails) return Fail(Reason::kNotFound, "cannot start nvidia-cuda-mps-control");
    return running = ++last_pid;
  }
  Result<std::string> Ask(const std::string& command) override {
    done.push_back(command);
    torn = torn || std::exchange(torn_by_question, false);
    if (silent || torn || shut || running == 0) return Fail(kNoAnswer);
    if (command == "quit") running = 0;
    if (command == "get_server_list") return std::string("55\n");
    if (command == "get_client_list 55") return clients;
    return std::string(command.starts_with("get_") ? "25.0\n" : "");
  }
  Status KeepSockets() override { return {}; }
  Result<bool> RestoreSockets() override {
    if (lost) return Fail(Reason::kUnavailable, "its socket was removed");
    if (torn) done.emplace_back("mend");
    return std::exchange(torn, stays_torn && torn);
  }
  bool Accepts() override { return running != 0 && !torn && !shut && !lost; }
  void Kill() override {
    done.emplace_back("kill");
    running = 0;
    silent = false;
  }
  bool AwaitEnd(pid_t daemon) override { return running != daemon; }
  void CleanUp() override { done.emplace_back("clean up"); }

  Texts TakeDone() { return std::exchange(done, {}); }
  Texts States() const {
    Texts states;
    for (const MpsStatus& status : said) {
      states.push_back(std::string(nvidia::MpsStateName(status.state)) + ": " + status.detail);
    }
    return states;
  }

  Result<Sizes> sizes = Sizes{.threads = 25, .gpus = {{"GPU-a", 2048}, {"GPU-b", 4096}}};
  Result<MpsStatus> last = Fail(Reason::kNotFound, "no such file");
  std::string clients;  // its list of clients
  std::string stubborn;
  bool start_fails = false;
  bool silent = false;
  bool torn = false;              // a container has removed its sockets
  bool torn_by_question = false;  // or removes them during the next one
  bool stays_torn = false;        // and removes them again and again
  bool lost = false;              // and they cannot be put back
  bool shut = false;              // it takes no connection
  pid_t running = 0;
  pid_t last_pid = 100;
  Texts done;
  std::vector<MpsStatus> said;
};

class SupervisorTest : public testing::Test {
 protected:
  SupervisorTest() {
    log::SetSink([this](std::string_view line) { log_.emplace_back(line); });
  }
  ~SupervisorTest() override { log::SetSink(nullptr); }

  // Steps for this time, as the supervisor's thread does.
  void Run(Duration span) {
    const Steady end = clock_.Now() + span;
    while (next_ <= end) {
      if (next_ > clock_.Now()) {
        clock_.Advance(std::chrono::duration_cast<Duration>(next_ - clock_.Now()));
      }
      next_ = clock_.Now() + supervisor_.Step();
    }
  }

  // The logged lines with this text.
  Texts Lines(std::string_view text) const {
    Texts lines = log_;
    std::erase_if(lines, [&](const std::string& line) { return line.find(text) == line.npos; });
    return lines;
  }

  Texts log_;
  FakeClock clock_;
  FakeControl control_;
  Supervisor supervisor_{kGpu, clock_, control_, {}};
  Steady next_ = clock_.Now();
};

TEST_F(SupervisorTest, ADaemonIsStartedAndToldItsSizes) {
  Run(Duration(0));

  EXPECT_EQ(control_.TakeDone(), (Texts{"kill", "exclusive GPU-a", "exclusive GPU-b", "start ",
                                        "set_default_device_pinned_mem_limit 0 2048M",
                                        "set_default_device_pinned_mem_limit 1 4096M",
                                        "set_default_active_thread_percentage 25",
                                        "get_default_active_thread_percentage"}));
  ASSERT_EQ(control_.said.size(), 1U);
  EXPECT_EQ(control_.said[0], (MpsStatus{.state = MpsState::kReady,
                                         .pid = 101,
                                         .boot = "boot",
                                         .answered = clock_.Now(),
                                         .next = clock_.Now() + Duration(17'000),
                                         .threads = 25,
                                         .served = {{"GPU-a", 2048}, {"GPU-b", 4096}}}));
}

TEST_F(SupervisorTest, AGpuWhoseMemoryIsNotKnownIsSharedWithoutALimitAndNamed) {
  control_.sizes->gpus[1].memory = 0;

  Run(Duration(0));

  const Texts lines = Lines("clients of MPS may take all memory of a GPU");
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_NE(
      lines[0].find("gpu=GPU-b advice=\"set a client's limit by 'nvidia: {mps: {memory: ...}}'\""),
      std::string::npos)
      << lines[0];
  EXPECT_EQ(control_.said[0].served, (std::map<std::string, int>{{"GPU-a", 2048}, {"GPU-b", 0}}));
}

TEST_F(SupervisorTest, OneThatRunsIsAskedEveryInterval) {
  Run(Duration(0));
  control_.TakeDone();

  Run(Duration(11'000));

  EXPECT_EQ(control_.TakeDone(), (Texts{"get_default_active_thread_percentage",
                                        "get_default_active_thread_percentage"}));
}

TEST_F(SupervisorTest, OneThatEndedIsStartedAgain) {
  Run(Duration(0));
  control_.said.clear();

  control_.running = 0;
  Run(Duration(1'500));

  EXPECT_EQ(control_.States(), (Texts{"down: it ended by itself; it is started again", "ready: "}));
  EXPECT_EQ(control_.running, 102);
}

TEST_F(SupervisorTest, OneThatHangsIsKilledAfterThreeQuestionsAndStartedAgain) {
  Run(Duration(0));
  control_.said.clear();
  control_.TakeDone();

  control_.silent = true;
  Run(Duration(16'000));

  const std::string silent = "silent: the MPS control daemon does not answer: " + kNoAnswer.message;
  EXPECT_EQ(control_.States(), (Texts{silent, silent,
                                      "down: it did not answer 3 times: " + kNoAnswer.message +
                                          "; it is started again",
                                      "ready: "}));
  EXPECT_EQ(control_.running, 102);
}

TEST_F(SupervisorTest, SocketsThatSomebodyRemovesArePutBackAndTheDaemonIsNotAskedInVain) {
  Run(Duration(0));
  control_.TakeDone();
  control_.said.clear();
  control_.torn = true;

  Run(Duration(6'000));

  EXPECT_EQ(control_.TakeDone(), (Texts{"mend", "get_default_active_thread_percentage"}));
  EXPECT_EQ(control_.States(), Texts{"ready: "});
  EXPECT_EQ(Lines("sockets of MPS were removed or replaced; they are restored").size(), 1U);
}

TEST_F(SupervisorTest, ADaemonWhoseSocketsGoWhileItIsAskedIsAskedAgain) {
  Run(Duration(0));
  control_.TakeDone();
  control_.said.clear();
  control_.torn_by_question = true;

  Run(Duration(6'000));

  EXPECT_EQ(control_.TakeDone(), (Texts{"get_default_active_thread_percentage", "mend",
                                        "get_default_active_thread_percentage"}));
  EXPECT_EQ(control_.States(), Texts{"ready: "});
}

TEST_F(SupervisorTest, ADaemonWhoseSocketsAreRemovedAgainAndAgainIsNotKilled) {
  Run(Duration(0));
  control_.torn = true;
  control_.stays_torn = true;

  Run(Duration(120'000));

  EXPECT_EQ(control_.running, 101);
  EXPECT_EQ(control_.States().back(),
            "silent: the MPS control daemon cannot be reached: its sockets were removed or "
            "replaced; they are restored. Its clients continue, but no other can start; when they "
            "have ended, 'kill 101' makes it restart");
}

TEST_F(SupervisorTest, ADaemonThatTakesNoConnectionIsNotKilledAndIsToldOfOnce) {
  Run(Duration(0));
  control_.shut = true;
  Run(Duration(120'000));

  EXPECT_EQ(control_.running, 101);
  EXPECT_EQ(Lines("cannot be reached: it accepts no connection").size(), 1U);
  control_.shut = false;
  Run(Duration(6'000));
  EXPECT_EQ(control_.States().back(), "ready: ");
}

TEST_F(SupervisorTest, ADaemonWhoseSocketCannotBePutBackIsNotKilledByTheNextSupervisorEither) {
  control_.running = 77;
  control_.lost = true;
  control_.silent = true;
  control_.last = MpsStatus{
      .pid = 77, .boot = "boot", .threads = 25, .served = {{"GPU-a", 2048}, {"GPU-b", 4096}}};

  Run(Duration(60'000));

  EXPECT_EQ(control_.running, 77);
  EXPECT_EQ(control_.said.back().state, MpsState::kSilent);
}

TEST_F(SupervisorTest, OneThatAnswersAgainStays) {
  Run(Duration(0));
  control_.silent = true;
  Run(Duration(11'000));
  control_.silent = false;
  control_.said.clear();

  Run(Duration(5'000));

  EXPECT_EQ(control_.States(), Texts{"ready: "});
  EXPECT_EQ(control_.running, 101);
}

TEST_F(SupervisorTest, OneThatCannotBeStartedIsTriedWithGrowingPauses) {
  control_.start_fails = true;
  Run(Duration(10'000));

  size_t starts = 0;
  for (const std::string& each : control_.TakeDone()) starts += each == "start " ? 1 : 0;
  EXPECT_EQ(starts, 5U);  // after 0, 0.5, 1.5, 3.5 and 7.5 s
  EXPECT_EQ(control_.States().back(),
            "down: it cannot be started: cannot start nvidia-cuda-mps-control");
}

TEST_F(SupervisorTest, WithoutADriverItWaitsForOne) {
  control_.sizes = Fail(Reason::kDriverMissing, "cannot load NVML");
  Run(Duration(0));
  EXPECT_EQ(control_.TakeDone(), Texts());
  EXPECT_EQ(control_.States(), Texts{"down: it cannot be started: cannot load NVML"});
}

TEST_F(SupervisorTest, AGpuWhoseModeCannotBeSetCostsNoOther) {
  control_.stubborn = "GPU-a";
  Run(Duration(0));

  EXPECT_EQ(control_.TakeDone(), (Texts{"kill", "exclusive GPU-b", "start GPU-b",
                                        "set_default_device_pinned_mem_limit 0 4096M",
                                        "set_default_active_thread_percentage 25",
                                        "get_default_active_thread_percentage"}));
  EXPECT_EQ(control_.said.back().refused,
            (std::map<std::string, std::string>{{"GPU-a", "its compute mode stays"}}));
}

TEST_F(SupervisorTest, AGpuThatCannotBeReadIsToldOfOnce) {
  control_.sizes->unread = {{3, "GPU 3 does not answer within 10.0 s"}};
  control_.start_fails = true;
  Run(Duration(10'000));

  const Texts lines = Lines("left out");
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_NE(lines[0].find("GPU 3 does not answer within 10.0 s: look at it with 'nvidia-smi'"),
            std::string::npos)
      << lines[0];
}

TEST_F(SupervisorTest, AGpuThatAnswersLaterIsTakenInWhileThereIsNoClient) {
  control_.sizes->gpus = {{"GPU-a", 2048}};
  control_.sizes->unread = {{1, "GPU 1 does not answer within 10.0 s"}};
  Run(Duration(0));
  control_.sizes->gpus.push_back({"GPU-b", 4096});
  control_.sizes->unread.clear();
  Run(Duration(59'000));
  EXPECT_EQ(control_.running, 101);
  control_.said.clear();

  Run(Duration(2'000));

  EXPECT_EQ(control_.running, 102);
  EXPECT_EQ(control_.States(), (Texts{"ready: ", "down: it is restarted to add GPUs", "ready: "}));
  EXPECT_EQ(control_.said.back().served,
            (std::map<std::string, int>{{"GPU-a", 2048}, {"GPU-b", 4096}}));
  EXPECT_EQ(control_.said.back().refused, (std::map<std::string, std::string>()));
}

TEST_F(SupervisorTest, AGpuThatAnswersLaterWaitsForTheLastClientAndIsToldOfOnce) {
  control_.sizes->gpus = {{"GPU-a", 2048}};
  control_.sizes->unread = {{1, "GPU 1 does not answer within 10.0 s"}};
  control_.clients = "4711\n";
  Run(Duration(0));
  control_.sizes->gpus.push_back({"GPU-b", 4096});
  control_.sizes->unread.clear();

  Run(Duration(200'000));

  EXPECT_EQ(control_.running, 101);
  EXPECT_EQ(Lines("a GPU is added once MPS has no client").size(), 1U);
  EXPECT_EQ(
      control_.said.back().refused,
      (std::map<std::string, std::string>{
          {"GPU-b",
           "MPS was started without it; it is added once no process uses MPS of the resource"}}));
  control_.clients.clear();
  Run(Duration(62'000));
  EXPECT_EQ(control_.running, 102);
}

TEST_F(SupervisorTest, AGpuWhoseModeCannotBeSetIsNotTakenInAgainAndAgain) {
  control_.stubborn = "GPU-b";
  control_.sizes->unread = {{2, "GPU 2 does not answer within 10.0 s"}};
  Run(Duration(300'000));
  EXPECT_EQ(control_.running, 101);
}

TEST_F(SupervisorTest, OneThatRunsWithTheSameSizesIsAdopted) {
  control_.running = 77;
  control_.last = MpsStatus{
      .pid = 77, .boot = "boot", .threads = 25, .served = {{"GPU-a", 2048}, {"GPU-b", 4096}}};
  Run(Duration(0));

  EXPECT_EQ(control_.TakeDone(), Texts{"get_default_active_thread_percentage"});
  EXPECT_EQ(control_.running, 77);
  EXPECT_EQ(control_.said.back().pid, 77);
}

TEST_F(SupervisorTest, AGpuThatCameMeanwhileWaitsAndEndsNoClient) {
  control_.running = 77;
  control_.last = MpsStatus{.pid = 77, .boot = "boot", .threads = 25, .served = {{"GPU-a", 2048}}};
  Run(Duration(0));

  EXPECT_EQ(control_.running, 77);
  EXPECT_EQ(control_.said.back().served, (std::map<std::string, int>{{"GPU-a", 2048}}));
  EXPECT_EQ(
      control_.said.back().refused,
      (std::map<std::string, std::string>{
          {"GPU-b",
           "MPS was started without it; it is added once no process uses MPS of the resource"}}));
}

TEST_F(SupervisorTest, OneThatRunsWithOtherSizesIsStartedAnew) {
  control_.running = 77;
  control_.last = MpsStatus{
      .pid = 77, .boot = "boot", .threads = 50, .served = {{"GPU-a", 2048}, {"GPU-b", 4096}}};
  Run(Duration(0));
  ASSERT_EQ(control_.said.size(), 1U);
  EXPECT_EQ(control_.said[0].state, MpsState::kDown);
  EXPECT_EQ(control_.said[0].detail, "it does not match the saved status; it is started again");

  Run(Duration(500));
  EXPECT_EQ(control_.running, 101);
  EXPECT_EQ(control_.said.back().state, MpsState::kReady);
}

TEST_F(SupervisorTest, OneThatDoesNotAnswerIsNotAdopted) {
  control_.running = 77;
  control_.silent = true;
  control_.last = MpsStatus{.pid = 77, .boot = "boot", .threads = 25, .served = {{"GPU-a", 2048}}};
  Run(Duration(0));
  EXPECT_EQ(control_.running, 0);
  control_.silent = false;
  Run(Duration(500));
  EXPECT_EQ(control_.running, 101);
}

TEST_F(SupervisorTest, AtTheEndTheDaemonQuitsAndGpusAreForAllAgain) {
  Run(Duration(0));
  control_.TakeDone();

  control_.said.clear();
  supervisor_.End();

  ASSERT_EQ(control_.said.size(), 1U);
  EXPECT_EQ(control_.said[0].detail, "it is stopping");
  EXPECT_EQ(control_.TakeDone(),
            (Texts{"quit", "kill", "default GPU-a", "default GPU-b", "clean up"}));
}

TEST_F(SupervisorTest, WhatAnEarlierOneHasLeftCanBeEndedWithoutAStep) {
  control_.running = 77;
  control_.last = MpsStatus{.pid = 77, .boot = "boot", .threads = 25, .served = {{"GPU-a", 2048}}};

  supervisor_.End();

  EXPECT_EQ(control_.TakeDone(), (Texts{"quit", "kill", "default GPU-a", "clean up"}));
}

}  // namespace
}  // namespace tessera::mps
