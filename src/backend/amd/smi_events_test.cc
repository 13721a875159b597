// SPDX-License-Identifier: Apache-2.0
#include "backend/amd/smi_events.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <thread>

#include "base/clock.h"
#include "base/mutex.h"

namespace tessera::amd {
namespace {

// Whether nobody reads the other end of a pipe.
bool EndsUnread(const os::Fd& writer) {
  pollfd waited{.fd = writer.get(), .events = POLLOUT, .revents = 0};
  return poll(&waited, 1, 0) == 1 && (waited.revents & POLLERR) != 0;
}

using Texts = std::vector<std::string>;

class SmiEventsTest : public testing::Test {
 protected:
  // Opens a stream for each GPU; the test writes to the other end.
  std::vector<Result<os::Fd>> Open(const std::vector<uint64_t>& gpu_ids) {
    const MutexLock lock(mutex_);
    ++asked_;
    std::vector<Result<os::Fd>> streams;
    for (const uint64_t gpu_id : gpu_ids) {
      if (gpu_id == 0) {
        streams.emplace_back(Fail(Reason::kPermission, "try {}", asked_));
        continue;
      }
      std::array<int, 2> ends{};
      EXPECT_EQ(pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK), 0);
      writers_.insert_or_assign(gpu_id, os::Fd(ends[1]));
      streams.emplace_back(os::Fd(ends[0]));
    }
    return streams;
  }
  // Runs the loop until `holds` does.
  template <class F>
  void AwaitThat(F holds) {
    const Steady end = SystemClock().Now() + Duration(10'000);
    while (!holds() && SystemClock().Now() < end) {
      loop_.RunOnce();
      std::this_thread::yield();
    }
    EXPECT_TRUE(holds());
  }
  bool IsOpen(uint64_t gpu_id) {
    const MutexLock lock(mutex_);
    return writers_.contains(gpu_id);
  }
  int Asked() {
    const MutexLock lock(mutex_);
    return asked_;
  }
  // Waits until the streams are open.
  void FollowAll(const std::map<std::string, std::vector<uint64_t>>& gpus) {
    events_.Follow(gpus);
    for (const auto& [address, ids] : gpus) {
      for (const uint64_t id : ids) {
        if (id != 0) AwaitThat([&] { return IsOpen(id); });
      }
    }
  }
  void Write(uint64_t gpu_id, std::string_view text) {
    const MutexLock lock(mutex_);
    ASSERT_EQ(write(writers_.at(gpu_id).get(), text.data(), text.size()),
              static_cast<ssize_t>(text.size()));
  }
  // Runs the loop until so many events were heard.
  void Await(size_t count) {
    bool late = false;
    const auto timeout = loop_.After(Duration(10'000), [&] { late = true, loop_.Stop(); });
    while (heard_.size() < count && !late) loop_.Run();
    EXPECT_FALSE(late);
  }

  os::Loop loop_;
  FakeClock clock_;
  Mutex mutex_;
  int asked_ = 0;
  std::map<uint64_t, os::Fd> writers_;
  Texts heard_;
  SmiEvents events_{loop_, [this](const auto& ids) { return Open(ids); },
                    [this](const std::string& address, SmiEvent event) {
                      heard_.push_back(address + " " + std::to_string(static_cast<int>(event)));
                      loop_.Stop();
                    },
                    clock_};
};

TEST_F(SmiEventsTest, EventsOfEachGpuAreHeardWithItsAddress) {
  FollowAll({{"0000:05:00.0", {51110}}, {"0000:27:00.0", {38057, 38058}}});
  Write(51110, "3 1\n4 1\n");
  Await(2);
  Write(38058, "2 4:1\n");
  Await(3);
  EXPECT_EQ(heard_, (Texts{"0000:05:00.0 3", "0000:05:00.0 4", "0000:27:00.0 2"}));
  EXPECT_EQ(Asked(), 1);
}

TEST_F(SmiEventsTest, ALineMayComeInParts) {
  FollowAll({{"0000:05:00.0", {51110}}});
  Write(51110, "3 ");
  loop_.RunOnce();
  EXPECT_EQ(heard_, Texts());
  Write(51110, "7\n");
  Await(1);
  EXPECT_EQ(heard_, Texts{"0000:05:00.0 3"});
}

TEST_F(SmiEventsTest, AGpuThatIsNoLongerFollowedIsNotHeard) {
  FollowAll({{"0000:05:00.0", {51110}}});
  events_.Follow({});
  AwaitThat([&] { return EndsUnread(writers_.at(51110)); });
}

TEST_F(SmiEventsTest, AStreamThatEndsIsOpenedAgain) {
  FollowAll({{"0000:05:00.0", {51110}}});
  Write(51110, "3 1\n");
  Await(1);
  {
    const MutexLock lock(mutex_);
    writers_.clear();
  }
  AwaitThat([&] {
    events_.OpenMissing();
    return IsOpen(51110);
  });
  Write(51110, "4 2\n");
  Await(2);
  EXPECT_EQ(heard_.back(), "0000:05:00.0 4");
}

TEST_F(SmiEventsTest, AGpuThatCannotBeFollowedCostsNoOther) {
  FollowAll({{"0000:05:00.0", {0}}, {"0000:27:00.0", {38057}}});
  AwaitThat([&] { return !events_.troubles().empty(); });
  EXPECT_EQ(events_.troubles(),
            (std::map<std::string, Error>{{"0000:05:00.0", {Reason::kPermission, "try 1"}}}));
  Write(38057, "3 1\n");
  Await(1);
}

TEST_F(SmiEventsTest, WhatFailsIsTriedAgainAfterPausesThatGrow) {
  const std::map<std::string, std::vector<uint64_t>> gpus = {{"0000:05:00.0", {0}}};
  events_.Follow(gpus);
  AwaitThat([&] { return !events_.troubles().empty(); });
  for (int tries = 1; tries <= 3; ++tries) {
    const std::string error = "try " + std::to_string(tries);
    AwaitThat([&] { return events_.troubles().at("0000:05:00.0").message == error; });
    const Duration pause = SmiEvents::kShortestPause * (1 << (tries - 1));
    clock_.Advance(pause - Duration(1));
    events_.Follow(gpus);  // by each list
    EXPECT_EQ(Asked(), tries);
    clock_.Advance(Duration(1));
    events_.OpenMissing();
    AwaitThat([&] { return Asked() == tries + 1; });
  }
}

TEST_F(SmiEventsTest, ANewGpuIsNotKeptWaitingByAnother) {
  events_.Follow({{"0000:05:00.0", {0}}});
  AwaitThat([&] { return !events_.troubles().empty(); });
  FollowAll({{"0000:05:00.0", {0}}, {"0000:27:00.0", {38057}}});
}

TEST(SmiEventLineTest, OtherLinesAreNone) {
  EXPECT_EQ(ParseSmiEvent("3 1f"), SmiEvent::kBeforeReset);
  EXPECT_EQ(ParseSmiEvent("2"), SmiEvent::kThrottled);
  for (const char* line : {"", " ", "0 1", "1 2f:python", "5 1", "b 1", "40 1", "x", "-3 1"}) {
    EXPECT_EQ(ParseSmiEvent(line), std::nullopt) << line;
  }
}

TEST(OpenSmiEventsTest, WithoutTheDriverTheErrorNamesItsNode) {
  EXPECT_EQ(OpenSmiEvents(os::Root("/nowhere"), {1})[0].error(),
            (Error{Reason::kNotFound, "/nowhere/dev/kfd is not there"}));
}

TEST(OpenSmiEventsTest, AFileThatIsNoDeviceHasNoEvents) {
  const std::string root = os::MakeTemporaryDirectory(testing::TempDir() + "kfd").value();
  ASSERT_TRUE(os::MakeDirectories(root + "/dev"));
  ASSERT_TRUE(os::ReplaceFile(root + "/dev/kfd", ""));
  const auto streams = OpenSmiEvents(os::Root(root), {1, 2});
  ASSERT_EQ(streams.size(), 2U);
  for (const auto& stream : streams) {
    EXPECT_EQ(stream.error(),
              (Error{Reason::kIo, "asking for events of " + root +
                                      "/dev/kfd: cannot open it: Inappropriate ioctl for device"}));
  }
  EXPECT_TRUE(os::RemoveTree(root));
}

}  // namespace
}  // namespace tessera::amd
