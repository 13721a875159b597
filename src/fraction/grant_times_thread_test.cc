// SPDX-License-Identifier: Apache-2.0
#include "fraction/grant_times_thread.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>

#include <atomic>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/log.h"
#include "fraction/region_test.h"
#include "os/waiting_test.h"

namespace tessera {
namespace {

class GrantTimesThreadTest : public RegionTest {
 protected:
  Region& Add(const std::string& grant, const std::string& gpu) {
    Region& region = Make(grant);
    region.accounting.times[0].used = kMs;
    times_.Add(grant, directory_, FileOf(grant), {gpu});
    return region;
  }
  // Charges the container until the thread has written a new `others_at` into its region.
  static void AwaitWord(Region& region) {
    std::atomic_ref<uint64_t> told(region.accounting.times[0].others_at);
    std::atomic_ref<uint64_t> used(region.accounting.times[0].used);
    const uint64_t before = told;
    while (told == before) {
      used += kMs;
      sched_yield();
    }
  }

  GrantTimesThread times_{Duration(20), Duration(200)};
};

TEST_F(GrantTimesThreadTest, EachContainerIsToldAgainAndAgain) {
  Region& a = Add("a", "GPU-1");
  AwaitWord(a);
  AwaitWord(a);
}

TEST_F(GrantTimesThreadTest, AContainerThatHoldsItsRegionCostsOthersNothingInTheLongRun) {
  Region& a = Add("a", "GPU-1");
  Region& b = Add("b", "GPU-2");
  AwaitWord(a);
  AwaitWord(b);
  std::optional<os::HeldFile> held(std::in_place, directory_ + "/" + FileOf("a"));
  if (!held->is_held()) GTEST_SKIP() << "this user may not let a write wait";
  a.accounting.times[0].used += kMs;
  const uint64_t before = a.accounting.times[0].others_at;
  for (int i = 0; i < 2; ++i) AwaitWord(b);
  EXPECT_EQ(a.accounting.times[0].others_at, before);

  held.reset();
  AwaitWord(a);
  AwaitWord(b);
}

TEST_F(GrantTimesThreadTest, OneThatHoldsItAgainAndAgainIsLeftOutAsWell) {
  Region& a = Add("a", "GPU-1");
  Region& b = Add("b", "GPU-1");  // containers that share a GPU get updates every 100 ms
  AwaitWord(a);
  std::mutex mutex;
  std::string said;
  log::SetSink([&](std::string_view line) {
    const std::lock_guard lock(mutex);
    said += line;
  });
  const auto is_told = [&] {
    const std::lock_guard lock(mutex);
    return said.find("blocks writes to its region") != said.npos;
  };
  bool is_held = true;
  const Steady until = SystemClock().Now() + Duration(60'000);
  while (is_held && !is_told() && SystemClock().Now() < until) {
    const os::HeldFile held(directory_ + "/" + FileOf("a"));
    is_held = held.is_held();
    a.accounting.times[0].used += kMs;
    b.accounting.times[0].used += kMs;
    poll(nullptr, 0, 200);  // of the 400 ms that count
  }
  log::SetSink(nullptr);
  if (!is_held) GTEST_SKIP() << "this user may not let a write wait";
  EXPECT_TRUE(is_told()) << said;
}

TEST_F(GrantTimesThreadTest, OneThatHasHeldItUpIsForgottenWithItsGrant) {
  Region& b = Add("b", "GPU-2");
  Add("a", "GPU-1");
  AwaitWord(b);
  const os::HeldFile held(directory_ + "/" + FileOf("a"));
  if (!held.is_held()) GTEST_SKIP() << "this user may not let a write wait";
  for (int i = 0; i < 2; ++i) AwaitWord(b);
  times_.Remove("a");
  AwaitWord(b);
}

}  // namespace
}  // namespace tessera
