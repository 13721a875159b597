// SPDX-License-Identifier: Apache-2.0
#include "backend/nvidia/core/events.h"

#include <dlfcn.h>
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "base/log.h"
#include "nvml/nvidia_node.h"

namespace tessera::nvidia {
namespace {

constexpr Duration kPatience{20'000};  // only a failing test waits this long

// The heard events, from any thread.
template <class T>
class Heard {
 public:
  void Add(T news) {
    std::lock_guard lock(mutex_);
    all_.push_back(std::move(news));
    told_.notify_all();
  }
  // The first `count` events; fewer if they do not come.
  std::vector<T> Await(size_t count) {
    std::unique_lock lock(mutex_);
    told_.wait_for(lock, kPatience, [&] { return all_.size() >= count; });
    return all_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable told_;
  std::vector<T> all_;  // under mutex_
};

class EventsTest : public testing::Test {
 protected:
  EventsTest() {
    log::SetSink([this](std::string_view line) { log_.Add(std::string(line.substr(25))); });
  }
  ~EventsTest() override { log::SetSink(nullptr); }
  void TearDown() override { EXPECT_TRUE(os::RemoveTree(directory_)); }

  // Starts a watcher for these GPUs, and waits until it watches them.
  std::unique_ptr<EventWatcher> Watch(const std::vector<unsigned>& gpus) {
    EXPECT_TRUE(session_->Open());
    auto watcher = std::make_unique<EventWatcher>(session_);
    watcher->Subscribe(this, [this](const Event& event) { heard_.Add(event); });
    watcher->Watch(Named(gpus));
    AwaitWatched(*watcher, gpus.size());
    return watcher;
  }
  std::map<unsigned, std::string> Named(const std::vector<unsigned>& gpus) {
    std::map<unsigned, std::string> named;
    for (unsigned gpu : gpus) named[gpu] = Uuid(gpu);
    return named;
  }
  static void AwaitWatched(const EventWatcher& watcher, size_t count) {
    const Steady limit = SystemClock().Now() + kPatience;
    while (watcher.watched() != count && SystemClock().Now() < limit) std::this_thread::yield();
    EXPECT_EQ(watcher.watched(), count);
  }
  std::string Uuid(unsigned gpu) const { return node_.hardware().gpus[gpu].uuid; }
  bool IsLoaded() const {
    void* handle =
        dlopen((directory_ + "/usr/lib64/libnvidia-ml.so.1").c_str(), RTLD_LAZY | RTLD_NOLOAD);
    if (handle != nullptr) dlclose(handle);
    return handle != nullptr;
  }

  const std::string directory_ = os::MakeTemporaryDirectory("/tmp/events_test").value();
  NvidiaNode node_{directory_, "8xh100-mig"};
  const std::shared_ptr<nvml::Session> session_ =
      std::make_shared<nvml::Session>(nvml::LibraryPaths(os::Root(directory_), "/"));
  Heard<std::string> log_;
  Heard<Event> heard_;
};

TEST_F(EventsTest, AnXidIsToldWithItsGpuAndInstances) {
  const auto watcher = Watch({0, 6});

  node_.SetFaults(
      "events: [{gpu: 0, xid: 79}, {gpu: 1, xid: 79}, {gpu: 6, xid: 94, gi: 7, ci: 1}]");

  EXPECT_EQ(
      heard_.Await(2),
      (std::vector<Event>{{.gpu = Uuid(0), .xid = 79},
                          {.gpu = Uuid(6), .xid = 94, .gpu_instance = 7, .compute_instance = 1}}));
}

TEST_F(EventsTest, AMemoryErrorOfTwoBitsIsXid48OfTheWholeGpu) {
  const auto watcher = Watch({0});

  node_.SetFaults("events: [{gpu: 0, type: 1}, {gpu: 0, type: 2, xid: 5, gi: 1, ci: 0}]");

  EXPECT_EQ(heard_.Await(1), (std::vector<Event>{{.gpu = Uuid(0), .xid = 48}}));
}

TEST_F(EventsTest, AnEventThatIsRepeatedAtOnceIsToldOnce) {
  const auto watcher = Watch({0});

  node_.SetFaults("events: [{gpu: 0, xid: 31}, {gpu: 0, xid: 31}, {gpu: 0, xid: 79}]");

  EXPECT_EQ(heard_.Await(2),
            (std::vector<Event>{{.gpu = Uuid(0), .xid = 31}, {.gpu = Uuid(0), .xid = 79}}));
}

TEST_F(EventsTest, AGpuThatIsLostIsKnownWithoutAskingIt) {
  const auto watcher = Watch({0});

  node_.SetFaults("gpus: {0: {lost: true}}\nevents: [{gpu: 0, xid: 79}]");

  EXPECT_EQ(heard_.Await(1), (std::vector<Event>{{.gpu = Uuid(0), .xid = 79}}));
}

TEST_F(EventsTest, AGpuThatAppearsLaterIsWatchedToo) {
  const auto watcher = Watch({0});

  watcher->Watch(Named({0, 1}));
  node_.SetFaults("events: [{gpu: 0, xid: 31}]");  // ends the current wait for events
  AwaitWatched(*watcher, 2);
  node_.SetFaults("events: [{gpu: 0, xid: 31}, {gpu: 1, xid: 79}]");

  EXPECT_EQ(heard_.Await(2),
            (std::vector<Event>{{.gpu = Uuid(0), .xid = 31}, {.gpu = Uuid(1), .xid = 79}}));
}

TEST_F(EventsTest, AGpuThatKnowsNoEventsIsToldOnceAndCostsNoOther) {
  node_.SetFaults("gpus: {0: {fail: {nvmlDeviceRegisterEvents: 3}}}");
  const auto watcher = Watch({});
  watcher->Watch(Named({0, 1}));
  AwaitWatched(*watcher, 1);

  EXPECT_EQ(watcher->Refusal(Uuid(0)), std::nullopt);
  EXPECT_EQ(log_.Await(3).back(), "INFO events of GPUs are watched gpus=1");
  EXPECT_EQ(log_.Await(3)[1], fmt::format("WARN a GPU reports no events; only checks watch it "
                                          "gpu={} error=\"it does not support them\"",
                                          Uuid(0)));
}

TEST_F(EventsTest, AGpuWhoseEventsAreRefusedIsAskedAgainUntilTheyAreTaken) {
  node_.SetFaults("gpus: {0: {fail: {nvmlDeviceRegisterEvents: 999}}}");
  const auto watcher = Watch({});
  watcher->Watch(Named({0, 1}));
  AwaitWatched(*watcher, 1);
  EXPECT_EQ(watcher->Refusal(Uuid(0)), "nvmlDeviceRegisterEvents: Unknown Error (999)");
  EXPECT_EQ(watcher->Refusal(Uuid(1)), std::nullopt);

  node_.SetFaults("events: [{gpu: 1, xid: 31}]");  // ends the current wait for events

  AwaitWatched(*watcher, 2);
  EXPECT_EQ(watcher->Refusal(Uuid(0)), std::nullopt);
}

TEST_F(EventsTest, AnEventSetThatBreaksIsMadeAnewAndThatIsToldOnce) {
  const auto watcher = Watch({0});

  node_.SetFaults("driver: {fail: {nvmlEventSetWait_v2: 999}}");
  AwaitWatched(*watcher, 0);
  node_.SetFaults("");
  AwaitWatched(*watcher, 1);
  node_.SetFaults("events: [{gpu: 0, xid: 79}]");

  EXPECT_EQ(heard_.Await(1), (std::vector<Event>{{.gpu = Uuid(0), .xid = 79}}));
  EXPECT_EQ(log_.Await(3)[2],
            "WARN cannot receive the events of GPUs; checks continue, and the agent retries "
            "error=\"nvmlEventSetWait_v2: Unknown Error (999)\"");
}

// The test's time. It stands still, pauses take no time, and some of them repair the event set.
struct Pauses {
  FakeClock clock;  // for the thread of the watcher
  size_t count = 0;
  Heard<int64_t> seconds;
};

TEST_F(EventsTest, PausesBetweenEventSetsDoubleUpToAMinuteAndBeginAnewOnceASetHasHeldForLonger) {
  constexpr char kBroken[] = "driver: {fail: {nvmlEventSetWait_v2: 999}}";
  const auto pauses = std::make_shared<Pauses>();
  const auto pause = [this, pauses](Duration time) {
    const std::set<size_t> mending = {8, 10, 11};
    if (mending.contains(++pauses->count)) node_.SetFaults("");
    pauses->seconds.Add(time.count() / 1'000);
  };
  ASSERT_TRUE(session_->Open());
  node_.SetFaults(kBroken);
  EventWatcher watcher(session_, {[pauses] { return pauses->clock.Now(); }, pause});
  watcher.Subscribe(this, [this, pauses](const Event& event) {
    pauses->clock.Advance(EventWatcher::kLongestRetry + Duration(1));
    heard_.Add(event);
  });
  watcher.Watch(Named({0}));

  pauses->seconds.Await(8);
  AwaitWatched(watcher, 1);
  node_.SetFaults("events: [{gpu: 0, xid: 31}]");
  heard_.Await(1);  // a minute is over
  node_.SetFaults(kBroken);
  pauses->seconds.Await(10);
  AwaitWatched(watcher, 1);
  node_.SetFaults(kBroken);  // no time has passed

  EXPECT_EQ(pauses->seconds.Await(11), (std::vector<int64_t>{1, 2, 4, 8, 16, 32, 60, 60, 1, 2, 4}));
  AwaitWatched(watcher, 1);
}

TEST_F(EventsTest, ALibraryThatIsDiscardedIsClosed) {
  const auto watcher = Watch({0});

  session_->Discard(session_->current());
  node_.SetFaults("events: [{gpu: 0, xid: 31}]");  // ends the current wait for events

  AwaitWatched(*watcher, 0);
  const Steady limit = SystemClock().Now() + kPatience;
  while (IsLoaded() && SystemClock().Now() < limit) std::this_thread::yield();
  EXPECT_FALSE(IsLoaded());
}

TEST_F(EventsTest, ALibraryThatIsOpenedAnewIsWatched) {
  const auto watcher = Watch({0});
  session_->Discard(session_->current());
  node_.SetFaults("events: [{gpu: 0, xid: 31}]");
  AwaitWatched(*watcher, 0);

  ASSERT_TRUE(session_->Open());
  watcher->Watch(Named({0, 1}));
  AwaitWatched(*watcher, 2);
  node_.SetFaults("events: [{gpu: 0, xid: 31}, {gpu: 1, xid: 79}]");

  EXPECT_EQ(heard_.Await(2).back(), (Event{.gpu = Uuid(1), .xid = 79}));
}

TEST_F(EventsTest, AWaitThatHangsHoldsUpNeitherUnsubscribeNorTheEnd) {
  auto watcher = Watch({0});
  node_.SetFaults("driver: {hang: [nvmlEventSetWait_v2]}");

  watcher->Unsubscribe(this);
  watcher.reset();

  node_.SetFaults("events: [{gpu: 0, xid: 79}]");
  EXPECT_EQ(heard_.Await(0), std::vector<Event>());
}

TEST_F(EventsTest, ResourcesOfOneSessionShareAWatcher) {
  const auto watcher = EventWatcher::Of(session_);

  EXPECT_EQ(EventWatcher::Of(session_), watcher);
  EXPECT_NE(EventWatcher::Of(std::make_shared<nvml::Session>(std::vector<std::string>{"x"})),
            watcher);
}

}  // namespace
}  // namespace tessera::nvidia
