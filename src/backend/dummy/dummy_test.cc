// SPDX-License-Identifier: Apache-2.0
#include "backend/dummy/dummy.h"

#include <gtest/gtest.h>

#include <thread>

#include "backend/dummy/fault_file.h"
#include "backend/recorder_test.h"
#include "base/log.h"
#include "os/files.h"
#include "os/waiting_test.h"

namespace tessera {
namespace {

class DummyTest : public testing::Test {
 protected:
  void SetUp() override {
    state_ = os::MakeTemporaryDirectory("/tmp/dummy_test").value();
    file_ = state_ + "/dummy/dummy.com_npu.json";
  }
  void TearDown() override { EXPECT_TRUE(os::RemoveTree(state_)); }

  std::unique_ptr<DummyBackend> Make(DummyConfig config = {}) {
    return std::make_unique<DummyBackend>("dummy.com/npu", std::move(config), state_, loop_,
                                          clock_);
  }
  static Device Npu(const std::string& id) {
    Device device;
    device.key = {"dummy.com/npu", id};
    device.model = "dummy NPU";
    device.visible_as = id;
    return device;
  }
  void WriteFaultFile(std::string_view text) {
    ASSERT_TRUE(os::MakeDirectories(state_ + "/dummy"));
    ASSERT_TRUE(os::WriteFileAtomically(file_, text));
  }

  // As another program does.
  void Break(std::string_view verb, std::string_view id, std::string_view detail) {
    ASSERT_TRUE(dummy::ChangeFaultFile(file_, verb, id, detail));
  }

  std::string state_, file_;
  os::Loop loop_;
  FakeClock clock_;
  Recorder events_{loop_};
};

TEST_F(DummyTest, DevicesAreNumberedFromZero) {
  const auto devices = Make({.count = 3})->Scan();

  ASSERT_TRUE(devices);
  EXPECT_EQ(*devices, (std::vector<Device>{Npu("0"), Npu("1"), Npu("2")}));
}

TEST_F(DummyTest, ThereAre64ByDefault) {
  const auto devices = Make()->Scan();

  ASSERT_TRUE(devices);
  ASSERT_EQ(devices->size(), 64U);
  EXPECT_EQ(devices->back(), Npu("63"));
}

TEST_F(DummyTest, NumaNodesGetEvenBlocks) {
  const auto devices = Make({.count = 8, .numa_nodes = 3})->Scan();

  ASSERT_TRUE(devices);
  std::vector<int> nodes;
  for (const Device& device : *devices) nodes.push_back(device.numa_nodes.at(0));
  EXPECT_EQ(nodes, (std::vector<int>{0, 0, 0, 1, 1, 1, 2, 2}));
}

TEST_F(DummyTest, PathsNameTheDevice) {
  const auto backend = Make({.count = 12,
                             .nodes = {{"/dev/npu{id}", "/dev/npu/{id}/{id}", "rwm"}},
                             .mounts = {{"/srv/npu/{id}", "/npu", true}}});

  const auto devices = backend->Scan();

  ASSERT_TRUE(devices);
  EXPECT_EQ(devices->at(11).nodes,
            (std::vector<DeviceNode>{{"/dev/npu11", "/dev/npu/11/11", "rwm"}}));
  EXPECT_EQ(devices->at(11).mounts, (std::vector<Mount>{{"/srv/npu/11", "/npu", true}}));
}

TEST_F(DummyTest, ADeviceWithoutFaultsIsGood) {
  EXPECT_EQ(Say(Make()->Check(Npu("7"))), "good");
}

TEST_F(DummyTest, AFailedDeviceIsReportedAtOnceAndFailsItsChecks) {
  const auto backend = Make();
  ASSERT_TRUE(backend->Start(events_));

  Break("fail", "7", "smoke");
  backend->Reload();

  EXPECT_EQ(events_.reports, (std::vector<std::string>{"dummy.com/npu/7 fatal-event smoke"}));
  EXPECT_EQ(Say(backend->Check(Npu("7"))), "bad check-failed smoke");
  EXPECT_EQ(Say(backend->Check(Npu("8"))), "good");
}

TEST_F(DummyTest, AHealedDeviceIsGood) {
  const auto backend = Make();
  Break("fail", "7", "");
  backend->Reload();

  Break("heal", "7", "");
  backend->Reload();

  EXPECT_EQ(Say(backend->Check(Npu("7"))), "good");
}

TEST_F(DummyTest, FaultsOutliveTheBackend) {
  Break("fail", "7", "smoke");

  const auto next = Make();
  ASSERT_TRUE(next->Start(events_));

  EXPECT_EQ(events_.reports, (std::vector<std::string>{"dummy.com/npu/7 fatal-event smoke"}));
  EXPECT_EQ(Say(next->Check(Npu("7"))), "bad check-failed smoke");
}

TEST_F(DummyTest, TheFaultFileCanBeChosen) {
  const std::string elsewhere = state_ + "/elsewhere/faults.json";
  const auto backend = Make({.fault_file = elsewhere});

  ASSERT_TRUE(dummy::ChangeFaultFile(elsewhere, "break", "7", "no reply"));
  backend->Reload();

  EXPECT_EQ(Say(backend->Check(Npu("7"))), "unknown check-failed no reply");
}

TEST_F(DummyTest, AFileEditedByHandCounts) {
  const auto backend = Make();
  ASSERT_TRUE(backend->Start(events_));

  WriteFaultFile(R"({"version":1,"devices":{"7":{"fail":"by hand"}}})");
  events_.AwaitNews();

  EXPECT_EQ(events_.reports, (std::vector<std::string>{"dummy.com/npu/7 fatal-event by hand"}));
}

TEST_F(DummyTest, RemovingTheFileEndsAllFaults) {
  const auto backend = Make();
  Break("hide", "7", "");
  backend->Reload();
  ASSERT_TRUE(backend->Start(events_));
  events_.rescans = 0;

  ASSERT_TRUE(os::RemoveFile(file_));
  events_.AwaitNews();

  EXPECT_EQ(events_.rescans, 1);
  EXPECT_EQ(backend->Scan()->size(), 64U);
}

TEST_F(DummyTest, ABrokenFileKeepsTheFaultsAndIsLoggedOnce) {
  const auto backend = Make();
  Break("fail", "7", "smoke");
  backend->Reload();
  ASSERT_TRUE(backend->Start(events_));
  std::vector<std::string> lines;
  log::SetSink([&](std::string_view line) { lines.emplace_back(line); });

  WriteFaultFile("{");
  loop_.RunOnce();
  WriteFaultFile("{");
  loop_.RunOnce();
  log::SetSink(nullptr);

  EXPECT_EQ(Say(backend->Check(Npu("7"))), "bad check-failed smoke");
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_NE(lines[0].find("fault file is broken, the last good faults stay"), std::string::npos);
  EXPECT_NE(lines[0].find(file_), std::string::npos);
}

TEST_F(DummyTest, AHiddenDeviceIsUnplugged) {
  const auto backend = Make({.count = 3});
  ASSERT_TRUE(backend->Start(events_));

  Break("hide", "1", "");
  backend->Reload();

  EXPECT_EQ(events_.rescans, 1);
  EXPECT_EQ(events_.reports, (std::vector<std::string>{"dummy.com/npu/1 vanished unplugged"}));
  EXPECT_EQ(backend->Scan().value(), (std::vector<Device>{Npu("0"), Npu("2")}));
  EXPECT_EQ(Say(backend->Check(Npu("1"))), "fatal vanished unplugged");
}

TEST_F(DummyTest, AShownDeviceIsBack) {
  const auto backend = Make({.count = 2});
  Break("hide", "1", "");
  backend->Reload();
  ASSERT_TRUE(backend->Start(events_));
  events_.rescans = 0;

  Break("show", "1", "");
  backend->Reload();

  EXPECT_EQ(events_.rescans, 1);
  EXPECT_EQ(backend->Scan().value(), (std::vector<Device>{Npu("0"), Npu("1")}));
}

TEST_F(DummyTest, ABrokenCheckGivesNoAnswer) {
  const auto backend = Make();

  Break("break", "7", "no reply");
  backend->Reload();

  EXPECT_EQ(Say(backend->Check(Npu("7"))), "unknown check-failed no reply");
}

TEST_F(DummyTest, ALostBusFailsTheScanAndEveryCheck) {
  const auto backend = Make({.count = 2});
  ASSERT_TRUE(backend->Start(events_));

  Break("lose-all", "", "");
  backend->Reload();

  EXPECT_EQ(events_.rescans, 1);
  EXPECT_EQ(events_.reports,
            (std::vector<std::string>{"dummy.com/npu/0 fatal-event the whole bus is gone",
                                      "dummy.com/npu/1 fatal-event the whole bus is gone"}));
  EXPECT_EQ(backend->Scan().error(),
            (Error{Reason::kScanFailed,
                   "dummy.com/npu: the whole bus is gone (fault \"lost\" in " + file_ + ")"}));
  EXPECT_EQ(Say(backend->Check(Npu("1"))), "bad check-failed the whole bus is gone");
}

TEST_F(DummyTest, RestoreBringsEverythingBack) {
  const auto backend = Make({.count = 2});
  Break("lose-all", "", "");
  backend->Reload();
  Break("fail", "0", "");
  backend->Reload();

  Break("restore", "", "");
  backend->Reload();

  EXPECT_EQ(backend->Scan()->size(), 2U);
  EXPECT_EQ(Say(backend->Check(Npu("0"))), "good");
}

TEST_F(DummyTest, AFlappingDeviceFollowsTheClock) {
  const auto backend = Make();
  Break("flap", "7", "10s");
  backend->Reload();  // the fake clock begins at 1000 s

  EXPECT_EQ(Say(backend->Check(Npu("7"))), "good");
  clock_.Advance(Duration(10'000));
  EXPECT_EQ(Say(backend->Check(Npu("7"))), "bad check-failed flapping");
  clock_.Advance(Duration(10'000));
  EXPECT_EQ(Say(backend->Check(Npu("7"))), "good");
}

TEST_F(DummyTest, EachFallOfAFlappingDeviceIsReported) {
  Break("flap", "7", "10ms");
  DummyBackend backend("dummy.com/npu", {}, state_, loop_, SystemClock());
  ASSERT_TRUE(backend.Start(events_));

  events_.AwaitNews();
  events_.AwaitNews();
  backend.Stop();

  EXPECT_EQ(events_.reports.at(0), "dummy.com/npu/7 fatal-event flapping");
  EXPECT_EQ(events_.reports.at(1), "dummy.com/npu/7 fatal-event flapping");
}

TEST_F(DummyTest, ASlowCheckEndsWithItsDevice) {
  const auto backend = Make();
  Break("slow", "7", "24h");
  backend->Reload();
  Evidence evidence;
  os::WaitingCall check([&] { evidence = backend->Check(Npu("7")); });

  Break("heal", "7", "");
  backend->Reload();
  check.Join();

  EXPECT_EQ(Say(evidence), "good");
}

TEST_F(DummyTest, StopEndsASlowCheck) {
  const auto backend = Make();
  Break("slow", "7", "24h");
  backend->Reload();
  Evidence evidence;
  os::WaitingCall check([&] { evidence = backend->Check(Npu("7")); });

  backend->Stop();
  check.Join();

  EXPECT_EQ(Say(evidence), "unknown check-timed-out the agent stops");
}

TEST_F(DummyTest, ASlowCheckTakesItsTime) {
  const auto backend = Make();
  Break("slow", "7", "20ms");
  backend->Reload();
  const auto begin = std::chrono::steady_clock::now();

  EXPECT_EQ(Say(backend->Check(Npu("7"))), "good");

  EXPECT_GE(std::chrono::steady_clock::now() - begin, Duration(20));
}

TEST_F(DummyTest, NoEventComesAfterStop) {
  const auto backend = Make();
  ASSERT_TRUE(backend->Start(events_));

  backend->Stop();
  Break("fail", "7", "");
  backend->Reload();
  loop_.RunOnce();

  EXPECT_EQ(events_.reports, std::vector<std::string>{});
}

TEST_F(DummyTest, ResetsAreCounted) {
  const auto backend = Make();

  EXPECT_TRUE(backend->Reset(Npu("7")));
  EXPECT_TRUE(backend->Reset(Npu("7")));

  EXPECT_EQ(backend->resets("7"), 2);
  EXPECT_EQ(backend->resets("8"), 0);
}

TEST_F(DummyTest, AResetFailsWithTheDevice) {
  const struct {
    std::string_view verb, message;
  } cases[] = {
      {"reset-fails", "dummy.com/npu/7 cannot be reset: injected reset failure"},
      {"fail", "dummy.com/npu/7 cannot be reset: injected failure"},
      {"hide", "dummy.com/npu/7 cannot be reset: unplugged"},
  };
  for (const auto& c : cases) {
    const auto backend = Make();
    Break("restore", "", "");
    Break(c.verb, "7", "");
    backend->Reload();

    const Status status = backend->Reset(Npu("7"));

    ASSERT_FALSE(status) << c.verb;
    EXPECT_EQ(status.error(), (Error{Reason::kResetFailed, std::string(c.message)}));
    EXPECT_EQ(backend->resets("7"), 0);
  }
}

TEST_F(DummyTest, FaultsOfDevicesThatItHasNotAreNobodys) {
  const auto backend = Make({.count = 2});
  ASSERT_TRUE(backend->Start(events_));
  for (const char* id : {"2", "07", "-1", "npu"}) Break("fail", id, "");
  backend->Reload();

  EXPECT_EQ(events_.reports, std::vector<std::string>{});
  EXPECT_EQ(backend->Scan()->size(), 2U);
}

}  // namespace
}  // namespace tessera
