// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <thread>

#include "backend/nvidia/nvidia.h"
#include "backend/recorder_test.h"
#include "base/log.h"
#include "nvml/nvidia_node.h"

namespace tessera {
namespace {

constexpr Duration kLongest{20'000};  // only a failing test waits this long

using Texts = std::vector<std::string>;

// The reports of backends, from any thread.
class Reports : public BackendEvents {
 public:
  void RescanSoon() override { Add("rescan"); }
  void Report(const DeviceKey& key, Evidence evidence) override {
    const bool reset = evidence.kind == EvidenceKind::kReset;
    Add(fmt::format("{} {}", key.id, reset ? "reset" : Say(evidence)));
  }
  void CountDriverError(const std::string& gpu, const std::string& xid) override {
    std::lock_guard lock(mutex_);
    ++xids_[gpu + " " + xid];
  }
  std::map<std::string, int> xids() {
    std::lock_guard lock(mutex_);
    return xids_;
  }
  // The first `count` reports; fewer if they do not come.
  Texts Await(size_t count) {
    std::unique_lock lock(mutex_);
    told_.wait_for(lock, kLongest, [&] { return all_.size() >= count; });
    return all_;
  }

 private:
  void Add(std::string text) {
    std::lock_guard lock(mutex_);
    all_.push_back(std::move(text));
    told_.notify_all();
  }
  std::mutex mutex_;
  std::condition_variable told_;
  Texts all_;  // under mutex_, as what follows
  std::map<std::string, int> xids_;
};

class NvidiaHealthTest : public testing::Test {
 protected:
  explicit NvidiaHealthTest(const std::string& hardware = "8xa100") : node_(directory_, hardware) {}
  void TearDown() override {
    for (const auto& backend : backends_) backend->Stop();
    EXPECT_TRUE(os::RemoveTree(directory_));
  }

  // A backend that was started and has scanned; its devices are devices_.
  NvidiaBackend& Start(NvidiaConfig config = {}) {
    backends_.push_back(
        std::make_shared<NvidiaBackend>("nvidia.com/gpu", std::move(config), os::Root(directory_)));
    EXPECT_TRUE(backends_.back()->Start(reports_));
    devices_ = backends_.back()->Scan().value();
    return *backends_.back();
  }
  // The watcher that all backends of the node share.
  std::shared_ptr<nvidia::EventWatcher> Watcher() const {
    return nvidia::EventWatcher::Of(nvml::Session::Of(os::Root(directory_), "/"));
  }
  // Waits until events of `count` GPUs are watched.
  void AwaitWatched(size_t count) {
    const auto watcher = Watcher();
    const Steady limit = SystemClock().Now() + kLongest;
    while (watcher->watched() != count && SystemClock().Now() < limit) std::this_thread::yield();
    EXPECT_EQ(watcher->watched(), count);
  }
  std::string Uuid(size_t gpu) const { return node_.hardware().gpus[gpu].uuid; }
  std::string Uuid(size_t gpu, size_t mig) const {
    return node_.hardware().gpus[gpu].mig[mig].uuid;
  }

  const std::string directory_ = os::MakeTemporaryDirectory("/tmp/nvidia_health_test").value();
  NvidiaNode node_;
  Reports reports_;
  std::vector<std::shared_ptr<NvidiaBackend>> backends_;
  std::vector<Device> devices_;
};

constexpr char kXid79[] = " fatal xid XID 79: the GPU has fallen off the bus; reset the GPU";
constexpr char kXid94[] =
    " fatal xid XID 94: memory had an error that was contained in one program; it returns once its "
    "checks have passed for a while";

TEST_F(NvidiaHealthTest, AnXidTakesOutItsGpuAndNoOther) {
  Start();
  AwaitWatched(8);

  node_.SetFaults("events: [{gpu: 3, xid: 79}, {gpu: 5, type: 2}]");

  EXPECT_EQ(
      reports_.Await(2),
      (Texts{Uuid(3) + kXid79, Uuid(5) + " fatal xid XID 48: memory has an error of two bits that "
                                         "ECC cannot correct; reset the GPU"}));
}

TEST_F(NvidiaHealthTest, AnXidThatIsAProgramsOwnChangesNothing) {
  Start({.xids = {{.xid = 94, .xid_class = nvidia::XidClass::kApplication},
                  {.xid = 13, .xid_class = nvidia::XidClass::kReboot}}});
  AwaitWatched(8);

  node_.SetFaults("events: [{gpu: 3, xid: 31}, {gpu: 3, xid: 94}, {gpu: 4, xid: 13}]");

  EXPECT_EQ(
      reports_.Await(1),
      (Texts{Uuid(4) + " fatal xid XID 13: a program made the graphics engine raise an exception; "
                       "reboot the node"}));
}

TEST_F(NvidiaHealthTest, EveryXidOfItsGpusIsCountedWhateverItMeans) {
  Start({.select = {{.index = "3"}, {.index = "4"}}});
  AwaitWatched(8);

  node_.SetFaults(
      "events: [{gpu: 3, xid: 31}, {gpu: 3, xid: 13}, {gpu: 3, xid: 31}, {gpu: 2, xid: 79}, {gpu: "
      "4, xid: 4711}, {gpu: 4, xid: 79}]");

  ASSERT_EQ(reports_.Await(2).size(), 2U);
  EXPECT_EQ(reports_.xids(), (std::map<std::string, int>{{Uuid(3) + " 13", 1},
                                                         {Uuid(3) + " 31", 2},
                                                         {Uuid(4) + " 79", 1},
                                                         {Uuid(4) + " other", 1}}));
}

TEST_F(NvidiaHealthTest, AResourceHearsOnlyOfItsOwnGpus) {
  Start({.select = {{.index = "3"}}});
  AwaitWatched(8);

  node_.SetFaults("events: [{gpu: 2, xid: 79}, {gpu: 3, xid: 79}]");

  EXPECT_EQ(reports_.Await(1), (Texts{Uuid(3) + kXid79}));
}

TEST_F(NvidiaHealthTest, AnXidOfAnUnknownGpuHasAllLookedAtAndTakesNoneOut) {
  NvidiaBackend& backend = Start();
  AwaitWatched(8);
  node_.SetFaults("gpus: {3: {fail: {nvmlDeviceGetUUID: 999}}}");
  const auto other = std::make_shared<NvidiaBackend>("other", NvidiaConfig(), os::Root(directory_));
  ASSERT_TRUE(other->Scan());  // it has never read GPU 3
  backend.Stop();
  ASSERT_TRUE(other->Start(reports_));
  backends_.push_back(other);

  node_.SetFaults("events: [{gpu: 3, xid: 79}]");

  EXPECT_EQ(reports_.Await(1), Texts{"rescan"});
}

TEST_F(NvidiaHealthTest, AfterStopNothingIsToldOfAnEvent) {
  NvidiaBackend& backend = Start();
  AwaitWatched(8);
  Reports others;
  const auto watcher = Watcher();
  watcher->Subscribe(&others, [&](const nvidia::Event&) { others.RescanSoon(); });

  backend.Stop();
  node_.SetFaults("events: [{gpu: 3, xid: 79}]");

  EXPECT_EQ(others.Await(1), Texts{"rescan"});
  watcher->Unsubscribe(&others);
  EXPECT_EQ(reports_.Await(0), Texts());
}

TEST_F(NvidiaHealthTest, MemoryErrorsThatGrowTakeTheGpuOutUntilAResetClearsThem) {
  node_.SetFaults("gpus: {3: {ecc: 2}}");
  NvidiaBackend& backend = Start();
  EXPECT_EQ(Say(backend.Check(devices_[3])), "good");  // they are from before

  node_.SetFaults("gpus: {3: {ecc: 4}}");
  const Evidence evidence = backend.Check(devices_[3]);
  EXPECT_EQ(Say(evidence),
            "fatal reset-needed its memory has 4 errors that ECC cannot correct, up from 2; reset "
            "the GPU");
  EXPECT_EQ(evidence.remedy, Remedy::kReset);
  EXPECT_EQ(Say(backend.Check(devices_[3])), "good");
  EXPECT_EQ(reports_.Await(0), Texts());

  node_.SetFaults("");
  EXPECT_EQ(Say(backend.Check(devices_[3])), "good");
  EXPECT_EQ(reports_.Await(1), Texts{Uuid(3) + " reset"});
}

TEST_F(NvidiaHealthTest, ARowThatWaitsForItsSpareTakesTheGpuOutUntilItHasIt) {
  NvidiaBackend& backend = Start();
  EXPECT_EQ(Say(backend.Check(devices_[3])), "good");

  node_.SetFaults("gpus: {3: {remap: {pending: 1}}}");
  EXPECT_EQ(Say(backend.Check(devices_[3])),
            "fatal reset-needed a row of its memory waits to be replaced by a spare; reset the "
            "GPU");
  EXPECT_EQ(Say(backend.Check(devices_[2])), "good");

  node_.SetFaults("gpus: {3: {remap: {failed: 1}}}");
  EXPECT_EQ(Say(backend.Check(devices_[3])),
            "fatal reset-needed a row of its memory could not be replaced by a spare; replace the "
            "GPU");
  EXPECT_EQ(reports_.Await(1), Texts{Uuid(3) + " reset"});
}

TEST_F(NvidiaHealthTest, ALinkThatGoesDownIsBadAsLongAsItIs) {
  node_.SetFaults("gpus: {3: {links-down: [1]}}");
  NvidiaBackend& backend = Start();
  EXPECT_EQ(Say(backend.Check(devices_[3])), "good");  // it may have nothing at its other end

  node_.SetFaults("gpus: {3: {links-down: [1, 7]}}");
  const char down[] = "bad check-failed NVLinks that were up are down: 7";
  EXPECT_EQ(Say(backend.Check(devices_[3])), down);
  EXPECT_EQ(Say(backend.Check(devices_[3])), down);

  node_.SetFaults("");
  EXPECT_EQ(Say(backend.Check(devices_[3])), "good");
  EXPECT_EQ(reports_.Await(0), Texts());
}

TEST_F(NvidiaHealthTest, HeatIsToldOncePerChangeAndTakesNothingOut) {
  Texts log;
  log::SetSink([&](std::string_view line) { log.emplace_back(line.substr(25)); });
  NvidiaBackend& backend = Start();
  for (const char* faults : {"gpus: {3: {clocks: 0x40}}", "gpus: {3: {clocks: 0x80}}", ""}) {
    node_.SetFaults(faults);
    EXPECT_EQ(Say(backend.Check(devices_[3])), "good");
    EXPECT_EQ(Say(backend.Check(devices_[3])), "good");
  }
  log::SetSink(nullptr);

  std::erase_if(log,
                [](const std::string& line) { return line.find("slowed") == std::string::npos; });
  const std::string slowed = "WARN the GPU is slowed down; look at its cooling and power gpu=";
  EXPECT_EQ(log, (Texts{slowed + Uuid(3) + " by=heat", slowed + Uuid(3) + " by=\"power brake\"",
                        "INFO the GPU is no longer slowed down gpu=" + Uuid(3)}));
}

TEST_F(NvidiaHealthTest, AnXidIsToldWithItsMeaningAndWhatToDo) {
  Texts log;
  log::SetSink([&](std::string_view line) {
    if (line.find(" xid=") != line.npos || line.find("XID") != line.npos) {
      log.emplace_back(line.substr(25));
    }
  });
  Start();
  AwaitWatched(8);

  node_.SetFaults("events: [{gpu: 3, xid: 31}, {gpu: 3, xid: 79}, {gpu: 4, xid: 94}]");
  ASSERT_EQ(reports_.Await(2).size(), 2U);
  log::SetSink(nullptr);

  const std::string error = "WARN a GPU reported an error resource=nvidia.com/gpu gpu=";
  EXPECT_EQ(
      log,
      (Texts{"INFO a program caused an XID; the GPU stays resource=nvidia.com/gpu gpu=" + Uuid(3) +
                 " xid=31 meaning=\"a program used an address of GPU memory that is not mapped\"",
             error + Uuid(3) +
                 " gi=all ci=all error=\"XID 79: the GPU has fallen off the bus; reset the "
                 "GPU\"",
             error + Uuid(4) +
                 " gi=all ci=all error=\"XID 94: memory had an error that was contained in "
                 "one program; it returns once its checks have passed for a while\""}));
}

TEST_F(NvidiaHealthTest, AGpuThatWasLostAndAnswersWasReset) {
  NvidiaBackend& backend = Start();

  for (const char* fault : {"lost", "reset-required"}) {
    node_.SetFaults(fmt::format("gpus: {{3: {{{}: true}}}}", fault));
    EXPECT_EQ(backend.Check(devices_[3]).reason, Reason::kDeviceLost);
    EXPECT_EQ(Say(backend.Check(devices_[4])), "good");
    node_.SetFaults("");
    EXPECT_EQ(Say(backend.Check(devices_[3])), "good");
    EXPECT_EQ(Say(backend.Check(devices_[3])), "good");
  }

  EXPECT_EQ(reports_.Await(2), (Texts{Uuid(3) + " reset", Uuid(3) + " reset"}));
}

TEST_F(NvidiaHealthTest, AGpuThatFailedOtherwiseWasNotReset) {
  NvidiaBackend& backend = Start();

  node_.SetFaults("gpus: {3: {fail: {all: 999}}}");
  EXPECT_EQ(backend.Check(devices_[3]).reason, Reason::kCheckFailed);
  node_.SetFaults("");
  EXPECT_EQ(Say(backend.Check(devices_[3])), "good");

  EXPECT_EQ(reports_.Await(0), Texts());
}

TEST_F(NvidiaHealthTest, ADriverThatWasGoneHasResetEveryGpu) {
  NvidiaBackend& backend = Start();
  EXPECT_EQ(Say(backend.Check(devices_[3])), "good");

  node_.SetFaults("driver: {fail: {all: 9}}");
  EXPECT_EQ(backend.Check(devices_[3]).reason, Reason::kDriverMissing);
  node_.SetFaults("");
  ASSERT_TRUE(backend.Scan());
  EXPECT_EQ(Say(backend.Check(devices_[3])), "good");
  EXPECT_EQ(Say(backend.Check(devices_[4])), "good");
  EXPECT_EQ(Say(backend.Check(devices_[4])), "good");

  EXPECT_EQ(reports_.Await(3), (Texts{"rescan", Uuid(3) + " reset", Uuid(4) + " reset"}));
}

// Waits until the backend's library is closed, which needs the end of the wait for events.
void AwaitClosed(const Backend& backend) {
  const Steady limit = SystemClock().Now() + kLongest;
  while (!backend.HeldBy().empty() && SystemClock().Now() < limit) std::this_thread::yield();
  EXPECT_EQ(backend.HeldBy(), Texts());
}

TEST_F(NvidiaHealthTest, AReleasedDriverIsClosedWithItsWatchesAndReadAnewAfterwards) {
  NvidiaBackend& backend = Start();
  AwaitWatched(8);
  EXPECT_EQ(Say(backend.Check(devices_[3])), "good");

  EXPECT_TRUE(backend.Release());
  AwaitClosed(backend);
  EXPECT_EQ(dlopen((directory_ + "/usr/lib64/libnvidia-ml.so.1").c_str(), RTLD_LAZY | RTLD_NOLOAD),
            nullptr);
  EXPECT_EQ(backend.Scan().error(),
            (Error{Reason::kReleased, "nvidia.com/gpu: NVML was closed by 'tessera release'"}));
  EXPECT_EQ(Say(backend.Check(devices_[3])),
            "unknown released NVML was closed by 'tessera release'");

  std::string yaml = os::ReadFile(directory_ + "/usr/lib64/fake-nvml.yaml").value();
  const std::string place = "root1, switch1, port1";
  node_.SetHardware(yaml.replace(yaml.find(place), place.size(), "root3, switch3, port2"));
  backend.TakeUp();
  const std::vector<Device> devices = backend.Scan().value();
  EXPECT_NE(devices[3].links, devices_[3].links);
  EXPECT_EQ(Say(backend.Check(devices[3])), "good");
  AwaitWatched(8);
  EXPECT_EQ(reports_.Await(0), Texts());  // nothing shows that a GPU was reset
}

TEST_F(NvidiaHealthTest, ADriverThatWasReplacedDuringAReleaseHasResetEveryGpu) {
  NvidiaBackend& backend = Start();
  EXPECT_EQ(Say(backend.Check(devices_[3])), "good");
  EXPECT_TRUE(backend.Release());
  AwaitClosed(backend);
  std::string yaml = os::ReadFile(directory_ + "/usr/lib64/fake-nvml.yaml").value();
  yaml.replace(yaml.find("driver:"), yaml.find('\n', yaml.find("driver:")) - yaml.find("driver:"),
               "driver: \"999.1\"");
  node_.SetHardware(yaml);

  backend.TakeUp();
  ASSERT_TRUE(backend.Scan());
  EXPECT_EQ(Say(backend.Check(devices_[3])), "good");

  EXPECT_EQ(reports_.Await(1), Texts{Uuid(3) + " reset"});
}

TEST_F(NvidiaHealthTest, ABackendThatIsMadeAnewKnowsOfNoReset) {
  NvidiaBackend& backend = Start();
  node_.SetFaults("driver: {fail: {all: 9}}");
  EXPECT_EQ(backend.Check(devices_[3]).reason, Reason::kDriverMissing);
  node_.SetFaults("");
  ASSERT_TRUE(backend.Scan());
  backend.Stop();

  NvidiaBackend& next = Start();
  EXPECT_EQ(Say(next.Check(devices_[3])), "good");

  EXPECT_EQ(reports_.Await(1), Texts{"rescan"});
}

TEST_F(NvidiaHealthTest, AGpuWhoseEventsTheDriverRefusesIsBadUntilItTakesThem) {
  node_.SetFaults("gpus: {3: {fail: {nvmlDeviceRegisterEvents: 999}}}");
  NvidiaBackend& backend = Start();
  AwaitWatched(7);
  EXPECT_EQ(Say(backend.Check(devices_[3])),
            "bad check-failed its events cannot be received: nvmlDeviceRegisterEvents: Unknown "
            "Error (999)");
  EXPECT_EQ(Say(backend.Check(devices_[2])), "good");

  node_.SetFaults("events: [{gpu: 1, xid: 31}]");  // ends the current wait for events
  AwaitWatched(8);
  EXPECT_EQ(Say(backend.Check(devices_[3])), "good");
}

TEST_F(NvidiaHealthTest, AGpuThatKnowsNoEventsOrOfWhichNoneCountsIsNotBadWithoutThem) {
  node_.SetFaults(
      "gpus: {3: {fail: {nvmlDeviceRegisterEvents: 3}}, 4: {fail: {nvmlDeviceRegisterEvents: "
      "999}}}");
  NvidiaBackend& counting = Start();
  NvidiaBackend& ignoring = Start({.other_xids = nvidia::OtherXids::kIgnore});
  AwaitWatched(6);
  EXPECT_EQ(Say(counting.Check(devices_[3])), "good");
  EXPECT_EQ(counting.Check(devices_[4]).kind, EvidenceKind::kBad);
  EXPECT_EQ(Say(ignoring.Check(devices_[4])), "good");
}

class NvidiaMigHealthTest : public NvidiaHealthTest {
 protected:
  NvidiaMigHealthTest() : NvidiaHealthTest("8xh100-mig") {}
};

TEST_F(NvidiaMigHealthTest, AnXidReachesTheMigDeviceThatItNames) {
  Start({.mig = "*"});
  AwaitWatched(8);
  const auto& migs = node_.hardware().gpus[6].mig;

  node_.SetFaults(
      fmt::format("events: [{{gpu: 6, xid: 94, gi: {}, ci: {}}}, {{gpu: 7, xid: 79, "
                  "gi: 99, ci: 0}}, {{gpu: 6, xid: 94, gi: {}}}]",
                  migs[2].gpu_instance, migs[2].compute_instance, migs[4].gpu_instance));

  EXPECT_EQ(reports_.Await(2), (Texts{Uuid(6, 2) + kXid94, Uuid(6, 4) + kXid94}));
}

TEST_F(NvidiaMigHealthTest, AnXidOfTheWholeGpuReachesAllItsMigDevices) {
  Start({.mig = "*"});
  AwaitWatched(8);

  node_.SetFaults("events: [{gpu: 7, xid: 79}, {gpu: 0, xid: 79}]");

  Texts expected;
  for (size_t mig = 0; mig < 4; ++mig) expected.push_back(Uuid(7, mig) + kXid79);
  EXPECT_EQ(reports_.Await(4), expected);
}

TEST_F(NvidiaMigHealthTest, AMigDeviceFaresAsItsGpuDoes) {
  NvidiaBackend& backend = Start({.select = {{.index = "7"}}, .mig = "*"});
  for (const Device& device : devices_) EXPECT_EQ(Say(backend.Check(device)), "good");

  node_.SetFaults("gpus: {7: {ecc: 1}}");
  for (const Device& device : devices_) {
    EXPECT_EQ(backend.Check(device).reason, Reason::kResetNeeded) << device.key.id;
  }

  node_.SetFaults("");
  Texts expected;
  for (const Device& device : devices_) {
    EXPECT_EQ(Say(backend.Check(device)), "good");
    expected.push_back(device.key.id + " reset");
  }
  EXPECT_EQ(reports_.Await(4), expected);
}

}  // namespace
}  // namespace tessera
