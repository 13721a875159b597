// SPDX-License-Identifier: Apache-2.0
#include "backend/amd/amd.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <csignal>
#include <set>
#include <thread>

#include "amd/events.h"
#include "amd/node.h"
#include "backend/amd/node_test.h"
#include "backend/recorder_test.h"
#include "base/captured_log_test.h"

namespace tessera::amd {
namespace {

class AmdEvents : public Recorder {
 public:
  explicit AmdEvents(os::Loop& loop) : Recorder(loop), loop_(loop) {}
  void CountDriverError(const std::string& device, const std::string& code) override {
    errors.push_back(device + " " + code);
    loop_.Stop();
  }

  std::vector<std::string> errors;

 private:
  os::Loop& loop_;
};

class AmdTest : public NodeTest {
 protected:
  AmdTest() { EXPECT_TRUE(backend_.Start(events_)); }
  ~AmdTest() override { backend_.Stop(); }

  std::vector<Device> Scan() {
    const auto devices = backend_.Scan();
    EXPECT_TRUE(devices) << devices.error().Text();
    return devices.value_or(std::vector<Device>());
  }

  // The simulated kernel's streams.
  std::vector<Result<os::Fd>> Open(const std::vector<uint64_t>& gpu_ids) const {
    std::vector<Result<os::Fd>> streams;
    for (const uint64_t gpu_id : gpu_ids) streams.emplace_back(ListenTo(directory_, gpu_id));
    return streams;
  }
  template <class F>
  bool RunUntil(F holds) {
    const Steady end = SystemClock().Now() + Duration(10'000);
    while (!holds() && SystemClock().Now() < end) {
      loop_.RunOnce();
      std::this_thread::yield();
    }
    return holds();
  }
  // Waits until the events of a GPU or partition are listened to.
  bool AwaitStream(uint64_t gpu_id = kFirst) {
    return RunUntil([&] { return IsListenedTo(directory_, gpu_id); });
  }
  // Of the first GPU.
  void BeginReset() {
    ASSERT_TRUE(AwaitStream());
    node_.BeginReset(0);
    events_.AwaitNews();
  }
  void EndReset() {
    node_.EndReset(0);
    events_.AwaitNews();
  }

  static constexpr uint64_t kFirst = 51110;  // KFD's number of the first GPU
  AmdNode node_{directory_, Mi300x()};
  os::Loop loop_;
  FakeClock clock_;
  AmdEvents events_{loop_};
  // There is a file in the place of its socket.
  void InstallExporter() const {
    ASSERT_TRUE(os::MakeDirectories(directory_ + "/run"));
    Write("/run/exporter", "");
  }
  // What it answers.
  void SetExporter(Result<ExporterWords> answer) {
    const MutexLock lock(exporter_mutex_);
    exporter_ = std::move(answer);
  }
  Result<ExporterWords> AskFakeExporter() {
    const MutexLock lock(exporter_mutex_);
    return exporter_;
  }
  // Waits until the exporter's next answer, which comes on another thread, has changed the checks.
  void AwaitCheck(const Device& device, const std::string& answer) {
    clock_.Advance(ExporterWatch::kEvery);
    RunUntil([&] { return Say(backend_.Check(device)) == answer; });
    EXPECT_EQ(Say(backend_.Check(device)), answer);
  }

  Mutex exporter_mutex_;
  Result<ExporterWords> exporter_ = ExporterWords();
  AmdBackend backend_{"amd.com/gpu",
                      {.exporter = "/run/exporter"},
                      root_,
                      loop_,
                      [this](const auto& ids) { return Open(ids); },
                      [this](const std::string&) { return AskFakeExporter(); },
                      clock_,
                      Duration(20)};
};

TEST_F(AmdTest, AGpuThatAnswersIsGood) {
  for (const Device& device : Scan()) EXPECT_EQ(Say(backend_.Check(device)), "good");
}

TEST_F(AmdTest, LinksAndSizesComeWithTheSecondScanOfATopology) {
  EXPECT_EQ(Scan()[0].links, std::vector<Link>());
  EXPECT_EQ(events_.rescans, 1);
  const Device device = Scan()[0];
  EXPECT_EQ(device.links.size(), 3U);
  EXPECT_EQ(device.memory, 196'592);
  EXPECT_EQ(events_.rescans, 1);
}

TEST_F(AmdTest, VirtualGpusHaveTheirSizesWithTheFirstScan) {
  AmdBackend shares(
      "amd.com/gpu", {.ids = AmdConfig::Ids::kUuid, .vgpu = {.on = true}}, root_, loop_,
      [this](const auto& ids) { return Open(ids); }, nullptr, clock_);
  const auto devices = shares.Scan();
  ASSERT_TRUE(devices);
  EXPECT_EQ((*devices)[0].defect, std::nullopt);
  EXPECT_EQ((*devices)[0].memory, 196'592);
  EXPECT_NE(shares.DescribeForCdi(*devices), nullptr);
}

TEST_F(AmdTest, ALostGpuIsOutAndCostsNoOther) {
  const std::vector<Device> devices = Scan();
  node_.Lose(3);
  EXPECT_EQ(Say(backend_.Check(devices[3])),
            "fatal device-lost 0000:65:00.0 no longer answers on its bus");
  EXPECT_EQ(Say(backend_.Check(devices[2])), "good");
  events_.AwaitRescan();
  node_.Return(3);
  events_.AwaitRescan();
  EXPECT_EQ(Say(backend_.Check(devices[3])), "good");
}

TEST_F(AmdTest, AnUnpluggedGpuHasVanished) {
  const std::vector<Device> devices = Scan();
  node_.Unplug(0);
  EXPECT_EQ(Say(backend_.Check(devices[0])),
            "fatal vanished 0000:05:00.0: the driver no longer has it");
}

TEST_F(AmdTest, ANewPartitionIsSeen) {
  node_.SetCompute(0, "CPX");
  events_.AwaitRescan();
  EXPECT_EQ(Scan().size(), 15U);
}

TEST_F(AmdTest, ADriverThatComesLaterIsSeen) {
  node_.RemoveDriver();
  events_.AwaitRescan();
  EXPECT_EQ(backend_.Scan().error().reason, Reason::kDriverMissing);
  node_.InstallDriver();
  events_.AwaitRescan();
  EXPECT_EQ(Scan().size(), 8U);
}

TEST_F(AmdTest, ANodeWithoutAGpuOfAmdHasNoDevices) {
  node_.RemoveDriver();
  for (size_t gpu = 0; gpu < 8; ++gpu) node_.Unplug(gpu);
  EXPECT_EQ(Scan(), std::vector<Device>());
}

// Opening a pipe, or a file that another program has a lease of, would wait.
TEST_F(AmdTest, AFileThatWouldKeepItsReaderWaitingCostsItsGpuAlone) {
  const std::vector<Device> devices = Scan();
  const std::string device = directory_ + DevicePath(node_.node().gpus[3]);
  for (const char* file : {"/ras/gfx_err_count", "/ras/gpu_vram_bad_pages"}) {
    ASSERT_TRUE(os::RemoveFile(device + file));
    ASSERT_EQ(mkfifo((device + file).c_str(), 0600), 0);
  }
  const std::string leased = device + "/current_compute_partition";
  const os::Fd lease(open(leased.c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_EQ(fcntl(lease.get(), F_SETSIG, SIGURG), 0);  // not SIGIO, which ends a program
  ASSERT_EQ(fcntl(lease.get(), F_SETLEASE, F_WRLCK), 0);

  const std::vector<Device> now = Scan();

  ASSERT_EQ(now.size(), 8U);
  for (size_t gpu = 0; gpu < now.size(); ++gpu) {
    EXPECT_EQ(now[gpu].key, devices[gpu].key);
    EXPECT_EQ(now[gpu].defect.has_value(), gpu == 3) << now[gpu].key.id;
    EXPECT_EQ(Say(backend_.Check(now[gpu])), "good");
  }
  ASSERT_EQ(fcntl(lease.get(), F_SETLEASE, F_UNLCK), 0);
  EXPECT_EQ(Scan()[3].defect, std::nullopt);
}

TEST_F(AmdTest, AConsumersGpuIsServedWithOneWarning) {
  const std::string directory = os::MakeTemporaryDirectory(directory_ + "/apu").value();
  const AmdNode apu(directory, Apu());
  AmdBackend backend("amd.com/gpu", {}, os::Root(directory), loop_, nullptr, nullptr, clock_);
  CapturedLog told;
  for (int scan = 0; scan < 2; ++scan) {
    const auto devices = backend.Scan();
    ASSERT_TRUE(devices);
    ASSERT_EQ(devices->size(), 1U);
    EXPECT_EQ((*devices)[0].defect, std::nullopt);
  }
  EXPECT_EQ(
      told.text(),
      "WARN a GPU is served that lacks what Instinct cards have resource=amd.com/gpu "
      "gpu=0000:c4:00.0 detail=\"has no serial number, by which ROCm would name it, counts no "
      "errors of its memory\"\n");
}

TEST_F(AmdTest, AnUncorrectedErrorTakesTheGpuOutUntilItsReset) {
  const std::vector<Device> devices = Scan();
  EXPECT_EQ(Say(backend_.Check(devices[0])), "good");
  node_.SetRas(0, "gfx", 2, 0);
  clock_.Advance(Duration(1'000));

  const Evidence evidence = backend_.Check(devices[0]);

  const std::string error = "ras 0000:05:00.0: 2 uncorrected errors of gfx";
  EXPECT_EQ(Say(evidence), "fatal " + error);
  EXPECT_EQ(evidence.remedy, Remedy::kReset);
  EXPECT_EQ(events_.reports, std::vector<std::string>{"amd.com/gpu/0000:05:00.0 " + error});
  // The remedy keeps it out, not the checks.
  EXPECT_EQ(Say(backend_.Check(devices[0])), "good");

  BeginReset();
  events_.reports.clear();
  EndReset();
  // Once more with the next check, as one that began before may tell of the error afterwards.
  EXPECT_EQ(Say(backend_.Check(devices[0])), "good");
  EXPECT_EQ(events_.reports, std::vector<std::string>(2, "amd.com/gpu/0000:05:00.0 reset"));
}

TEST_F(AmdTest, APartOfAGpuThatIsDividedAfterAnErrorIsToldOfItOnce) {
  EXPECT_EQ(Say(backend_.Check(Scan()[0])), "good");
  node_.SetRas(0, "gfx", 2, 0);
  clock_.Advance(Duration(1'000));
  const std::string error = "fatal ras 0000:05:00.0: 2 uncorrected errors of gfx";
  EXPECT_EQ(Say(backend_.Check(Scan()[0])), error);
  node_.SetCompute(0, "CPX");
  const std::vector<Device> parts = Scan();
  ASSERT_EQ(parts[1].key.id, "0000:05:00.0-1");
  EXPECT_EQ(Say(backend_.Check(parts[1])), error);
  EXPECT_EQ(Say(backend_.Check(parts[1])), "good");  // its remedy keeps it out
  EXPECT_EQ(Say(backend_.Check(parts[2])), error);
}

TEST_F(AmdTest, AResetThatAPersonReportsIsThatOfAllPartsAndOfThoseToCome) {
  EXPECT_EQ(Say(backend_.Check(Scan()[0])), "good");
  node_.SetRas(0, "gfx", 2, 0);
  clock_.Advance(Duration(1'000));
  node_.SetCompute(0, "DPX");
  const Device part = Scan()[0];
  EXPECT_EQ(Say(backend_.Check(part)), "fatal ras 0000:05:00.0: 2 uncorrected errors of gfx");
  events_.reports.clear();

  backend_.LearnReset(part);

  EXPECT_EQ(Say(backend_.Check(part)), "good");
  EXPECT_EQ(events_.reports, (std::vector<std::string>{"amd.com/gpu/0000:05:00.0-0 reset",
                                                       "amd.com/gpu/0000:05:00.0-1 reset"}));
  node_.SetCompute(0, "CPX");
  for (const Device& each : Scan()) EXPECT_EQ(Say(backend_.Check(each)), "good");
}

TEST_F(AmdTest, AGpuWithPagesThatCannotBeSetAsideIsOutAsLongAsItHasThem) {
  const std::vector<Device> devices = Scan();
  const std::string pages = DevicePath(node_.node().gpus[0]) + "/ras/gpu_vram_bad_pages";
  Write(pages, "0x00000002 : 0x00001000 : F\n");
  const std::string out =
      "fatal ras 0000:05:00.0: 1 bad page of memory that the driver cannot set aside";
  EXPECT_EQ(Say(backend_.Check(devices[0])), out);  // the first reading
  EXPECT_EQ(Say(backend_.Check(devices[0])), out);
  EXPECT_EQ(backend_.Check(devices[0]).remedy, Remedy::kNone);
  EXPECT_EQ(Say(backend_.Check(devices[1])), "good");
  Write(pages, "0x00000002 : 0x00001000 : R\n");
  clock_.Advance(Duration(1'000));
  EXPECT_EQ(Say(backend_.Check(devices[0])), "good");
  EXPECT_EQ(events_.reports, std::vector<std::string>());
}

TEST_F(AmdTest, AResetWhoseEndWasNotHeardEndsWithItsCounts) {
  const std::vector<Device> devices = Scan();
  node_.SetRas(0, "gfx", 2, 0);
  EXPECT_EQ(Say(backend_.Check(devices[0])), "good");
  BeginReset();
  node_.SetRas(0, "gfx", 0, 0);
  clock_.Advance(Duration(1'000));
  EXPECT_EQ(Say(backend_.Check(devices[0])), "good");
  EXPECT_EQ(events_.reports.back(), "amd.com/gpu/0000:05:00.0 reset");
  events_.reports.clear();
  clock_.Advance(AmdBackend::kLongReset);
  node_.Unplug(7);
  events_.AwaitRescan();
  EXPECT_EQ(events_.reports, std::vector<std::string>());
}

TEST_F(AmdTest, AGpuWhoseDivisionCannotBeReadKeepsItsParts) {
  node_.SetCompute(0, "CPX");
  (void)Scan();
  const std::vector<Device> before = Scan();
  Write(DevicePath(node_.node().gpus[0]) + "/current_compute_partition", "");
  const std::vector<Device> now = Scan();
  ASSERT_EQ(now.size(), before.size());
  for (size_t i = 0; i < now.size(); ++i) {
    EXPECT_EQ(now[i].key, before[i].key);
    EXPECT_EQ(now[i].defect.has_value(), now[i].address == "0000:05:00.0");
  }
}

TEST_F(AmdTest, AGpuThatItsDriverTakesUpAgainWasReset) {
  (void)Scan();
  node_.Unplug(0);
  (void)Scan();
  EXPECT_EQ(events_.reports, std::vector<std::string>());
  node_.Return(0);
  (void)Scan();
  EXPECT_EQ(events_.reports, std::vector<std::string>{"amd.com/gpu/0000:05:00.0 reset"});
}

TEST_F(AmdTest, ADriverThatIsLoadedAgainHasResetAllGpus) {
  (void)Scan();
  node_.RemoveDriver();
  EXPECT_EQ(backend_.Scan().error().reason, Reason::kDriverMissing);
  node_.InstallDriver();
  (void)Scan();
  EXPECT_EQ(events_.reports.size(), 8U);
  EXPECT_EQ(events_.reports.front(), "amd.com/gpu/0000:05:00.0 reset");
}

TEST_F(AmdTest, ADriverThatIsLoadedAgainDuringAReleaseHasResetAllGpus) {
  (void)Scan();
  backend_.Release();
  node_.RemoveDriver();
  node_.InstallDriver();
  backend_.TakeUp();
  (void)Scan();
  EXPECT_EQ(events_.reports.size(), 8U);
  events_.reports.clear();
  (void)Scan();
  EXPECT_EQ(events_.reports, std::vector<std::string>());
}

TEST_F(AmdTest, ADriverThatComesAfterTheAgentHasResetAllGpus) {
  node_.RemoveDriver();
  EXPECT_EQ(backend_.Scan().error().reason, Reason::kDriverMissing);
  node_.InstallDriver();
  (void)Scan();
  EXPECT_EQ(events_.reports.size(), 8U);
}

TEST_F(AmdTest, AGpuIsOutWhileItsDriverResetsIt) {
  Scan();
  BeginReset();
  EXPECT_EQ(events_.reports,
            std::vector<std::string>{
                "amd.com/gpu/0000:05:00.0 reset-needed the driver resets 0000:05:00.0"});
  const Device gpu{.key = {"amd.com/gpu", "0000:05:00.0"}};
  const Evidence during = backend_.Check(gpu);
  EXPECT_EQ(Say(during), "fatal reset-needed the driver resets 0000:05:00.0");
  // An agent that does not hear of the end looks for itself.
  EXPECT_EQ(during.remedy, Remedy::kNone);
  EndReset();
  EXPECT_EQ(Say(backend_.Check(gpu)), "good");
}

TEST_F(AmdTest, AResetThatDoesNotEndIsToldOnceWithItsBeginning) {
  Scan();
  BeginReset();
  events_.reports.clear();
  clock_.Advance(AmdBackend::kLongReset);
  events_.AwaitNews();
  EXPECT_EQ(events_.reports,
            std::vector<std::string>{
                "amd.com/gpu/0000:05:00.0 reset-needed the driver has not ended the reset of "
                "0000:05:00.0 that began at 1970-01-01T00:16:40.000Z"});
  EndReset();
  EXPECT_EQ(events_.reports.back(), "amd.com/gpu/0000:05:00.0 reset");
  EXPECT_EQ(events_.reports.size(), 2U);
}

TEST_F(AmdTest, AGpuThatIsTakenUpAgainHasEndedItsReset) {
  (void)Scan();
  BeginReset();
  node_.Unplug(0);
  (void)Scan();
  node_.Return(0);
  (void)Scan();
  events_.reports.clear();
  clock_.Advance(AmdBackend::kLongReset);
  events_.AwaitRescan();
  EXPECT_EQ(events_.reports, std::vector<std::string>());
}

TEST_F(AmdTest, AResetOfADividedGpuTakesAllItsPartsOutWhileItLasts) {
  node_.SetCompute(0, "DPX");
  Scan();
  ASSERT_TRUE(AwaitStream(kFirst + 1));
  BeginReset();
  // The stream of each part tells of it, and each time all parts are reported.
  EXPECT_TRUE(RunUntil([&] { return events_.reports.size() == 4; }));
  const std::vector<Device> during = Scan();
  ASSERT_EQ(during.size(), 9U);
  for (const size_t part : {0U, 1U}) {
    ASSERT_TRUE(during[part].defect) << during[part].key.id;
    EXPECT_EQ(during[part].defect->reason, Reason::kUnreadable);
  }
  EXPECT_EQ(during[2].defect, std::nullopt);
  EXPECT_EQ(std::set(events_.reports.begin(), events_.reports.end()),
            (std::set<std::string>{
                "amd.com/gpu/0000:05:00.0-0 reset-needed the driver resets 0000:05:00.0",
                "amd.com/gpu/0000:05:00.0-1 reset-needed the driver resets 0000:05:00.0"}));
  events_.reports.clear();
  EndReset();
  EXPECT_EQ(std::set(events_.reports.begin(), events_.reports.end()),
            (std::set<std::string>{"amd.com/gpu/0000:05:00.0-0 reset",
                                   "amd.com/gpu/0000:05:00.0-1 reset"}));
  for (const Device& device : Scan()) EXPECT_EQ(device.defect, std::nullopt) << device.key.id;
}

TEST_F(AmdTest, ThrottlingIsCountedAndTakesNothingOut) {
  const std::vector<Device> devices = Scan();
  ASSERT_TRUE(AwaitStream());
  node_.TellEvent(0, "2 4:1");
  EXPECT_TRUE(RunUntil([&] { return events_.errors.size() == 1; }));
  EXPECT_EQ(events_.errors, std::vector<std::string>{"0000:05:00.0 thermal-throttling"});
  EXPECT_EQ(events_.reports, std::vector<std::string>());
  EXPECT_EQ(Say(backend_.Check(devices[0])), "good");
}

TEST_F(AmdTest, WhileItIsReleasedNoStreamKeepsTheDriver) {
  Scan();
  ASSERT_TRUE(AwaitStream());
  EXPECT_TRUE(backend_.Release());
  EXPECT_EQ(backend_.Scan().error().reason, Reason::kReleased);
  EXPECT_TRUE(RunUntil([&] { return backend_.HeldBy().empty(); }));
  EXPECT_FALSE(IsListenedTo(directory_, kFirst));
  backend_.TakeUp();
  Scan();
  EXPECT_TRUE(AwaitStream());
}

constexpr char kExporterSaysSo[] =
    "fatal check-failed AMD's metrics exporter says that it is unhealthy";

TEST_F(AmdTest, AGpuThatTheExporterCallsUnhealthyIsOutUntilItCallsItHealthy) {
  const std::vector<Device> devices = Scan();
  InstallExporter();
  SetExporter(ExporterWords{{"0000:05:00.0", true}, {"0000:27:00.0", false}});
  AwaitCheck(devices[0], kExporterSaysSo);
  EXPECT_EQ(Say(backend_.Check(devices[1])), "good");
  EXPECT_EQ(Say(backend_.Check(devices[2])), "good");  // it does not know this one
  SetExporter(ExporterWords{{"0000:05:00.0", false}});
  AwaitCheck(devices[0], "good");
}

TEST_F(AmdTest, APartitionThatTheExporterCallsUnhealthyIsOutAlone) {
  node_.SetCompute(0, "CPX");
  const std::vector<Device> devices = Scan();
  InstallExporter();
  SetExporter(ExporterWords{{"0000:05:00.0", false}, {"0000:05:00.3", true}});
  AwaitCheck(devices[3], kExporterSaysSo);
  for (const size_t other : {0U, 2U, 4U}) EXPECT_EQ(Say(backend_.Check(devices[other])), "good");
}

TEST_F(AmdTest, APartitionWhoseNodeIsGoneIsOut) {
  const std::vector<Device> devices = Scan();
  ASSERT_TRUE(os::RemoveFile(directory_ + "/dev/dri/renderD128"));
  EXPECT_EQ(Say(backend_.Check(devices[0])), "fatal vanished /dev/dri/renderD128 is gone");
  EXPECT_EQ(Say(backend_.Check(devices[1])), "good");
}

}  // namespace
}  // namespace tessera::amd
