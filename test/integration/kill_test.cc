// SPDX-License-Identifier: Apache-2.0
// The agent is killed at every call that leaves a trace on the node, one call after the other.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <thread>

#include "kill_scenario.h"

namespace tessera {
namespace {

using faults::Call;

constexpr int kAtOnce = 4;  // nodes; each waits most of its time
constexpr const char* kCallNames[faults::kCalls] = {"write",     "writev", "pwrite",    "rename",
                                                    "renameat2", "fsync",  "fdatasync", "unlink",
                                                    "unlinkat",  "bind",   "send",      "sendmsg"};

const char* NameOf(Call call) {
  return kCallNames[static_cast<size_t>(call)];
}

struct Calls {
  const char* name;
  std::vector<Call> made;      // every agent makes these, or the preloaded library misses them
  std::vector<Call> possible;  // an agent with another release of a library may make these
};

// For the names of tests.
void PrintTo(const Calls& calls, std::ostream* out) {
  *out << calls.name;
}

// The nodes of one sweep, on several threads. Each thread plays one node at a time.
class Sweep {
 public:
  explicit Sweep(Call call) : call_(call) {
    KillScenario whole;
    EXPECT_FALSE(whole.Play(call, 0));
    reached_ = whole.CountOf(call);
  }

  void Run() {
    if (reached_ == 0) return;
    std::vector<std::thread> threads;
    for (int i = 0; i < kAtOnce; ++i) threads.emplace_back([this] { KillOneAfterTheOther(); });
    for (std::thread& thread : threads) thread.join();
  }

  uint32_t killed() const { return killed_; }
  Duration slowest() const { return slowest_; }

 private:
  // Runs differ in their number of calls. So the sweep ends at the first call that was not reached
  // and is not below the whole life's count.
  void KillOneAfterTheOther() {
    while (!over_ && !testing::Test::HasFailure()) {
      const uint32_t at = ++next_;
      KillScenario scenario;
      if (scenario.Play(call_, at)) {
        SCOPED_TRACE(testing::Message() << "killed at call " << at);
        scenario.CheckSuccessor();
        std::lock_guard lock(mutex_);
        ++killed_;
        slowest_ = std::max(slowest_, scenario.comeback());
      } else if (at >= reached_) {
        over_ = true;
      }
    }
  }

  const Call call_;
  uint32_t reached_ = 0;
  std::atomic<uint32_t> next_{0};
  std::atomic<bool> over_{false};
  std::mutex mutex_;
  uint32_t killed_ = 0;  // this and below: under mutex_
  Duration slowest_{0};
};

class KillTest : public testing::TestWithParam<Calls> {
 protected:
  // Returns how many kills there were.
  static uint32_t KillAtEvery(Call call) {
    Sweep sweep(call);
    sweep.Run();
    fmt::print("killed at {} calls of {}; the slowest successor was back after {} ms\n",
               sweep.killed(), NameOf(call), sweep.slowest().count());
    return sweep.killed();
  }
};

TEST_P(KillTest, AnAgentKilledAtAnyCallIsSucceededAsIfNothingHadBeen) {
  for (Call call : GetParam().made) EXPECT_GT(KillAtEvery(call), 0u) << NameOf(call);
  for (Call call : GetParam().possible) KillAtEvery(call);
}

INSTANTIATE_TEST_SUITE_P(At, KillTest,
                         testing::Values(Calls{"Write", {Call::kWrite}, {}},
                                         Calls{"Message", {Call::kSendmsg}, {Call::kSend}},
                                         Calls{"FileOrSocket",
                                               {Call::kRename, Call::kFsync, Call::kUnlink,
                                                Call::kBind},
                                               {Call::kWritev, Call::kPwrite, Call::kRenameat2,
                                                Call::kFdatasync, Call::kUnlinkat}}),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace tessera
