// SPDX-License-Identifier: Apache-2.0
#include "backend/ascend/ascend.h"

#include <gtest/gtest.h>

#include <future>

#include "backend/ascend/node_test.h"
#include "backend/recorder_test.h"

namespace tessera::ascend {
namespace {

// Events come on the driver's thread; the recorder is the loop's.
class LoopEvents : public BackendEvents {
 public:
  LoopEvents(os::Loop& loop, Recorder& recorder) : loop_(loop), recorder_(recorder) {}
  void RescanSoon() override {
    loop_.Post([this] { recorder_.RescanSoon(); });
  }
  void Report(const DeviceKey& key, Evidence evidence) override {
    loop_.Post([this, key, evidence] { recorder_.Report(key, evidence); });
  }
  void CountDriverError(const std::string& device, const std::string& code) override {
    loop_.Post([this, text = device + " " + code] { errors.push_back(text); });
  }

  std::vector<std::string> errors;

 private:
  os::Loop& loop_;
  Recorder& recorder_;
};

class AscendTest : public NodeTest {
 protected:
  AscendTest() { EXPECT_TRUE(backend_.Start(events_)); }
  ~AscendTest() override { backend_.Stop(); }

  std::vector<Device> Scan() {
    const auto devices = backend_.Scan();
    EXPECT_TRUE(devices) << devices.error().Text();
    return devices.value_or(std::vector<Device>());
  }
  std::string Check(const Device& device) { return Say(backend_.Check(device)); }
  // The text of a report about a chip.
  static std::string Of(size_t chip, const std::string& rest) {
    return "huawei.com/npu/" + Id(chip) + " " + rest;
  }
  // Checks a device until its health is known to be good, without the reports of that.
  void Settle(const Device& device) {
    EXPECT_EQ(Check(device), "good");
    recorder_.AwaitNews();
    recorder_.reports.clear();
  }

  AscendNode node_{directory_, Eight910b3()};
  os::Loop loop_;
  FakeClock clock_;
  Recorder recorder_{loop_};
  LoopEvents events_{loop_, recorder_};
  AscendBackend backend_{"huawei.com/npu",
                         {},
                         root_,
                         directory_ + "/state",
                         loop_,
                         clock_,
                         {.look = Duration(20), .patience = Duration(10'000)}};
};

TEST_F(AscendTest, AChipThatAnswersIsGood) {
  for (const Device& device : Scan()) EXPECT_EQ(Check(device), "good");
}

TEST_F(AscendTest, AFaultTakesTheChipOutUntilItClears) {
  const Device device = Scan()[2];
  Settle(device);
  node_.SetHealth(2, 3, {0x80E01801});
  EXPECT_EQ(Check(device), "fatal npu-fault fault 80E01801 (RestartBusiness)");
  EXPECT_EQ(Check(Scan()[3]), "good");
  node_.SetHealth(2, 0);
  EXPECT_EQ(Check(device), "good");
}

TEST_F(AscendTest, AFaultThatNeedsAResetHadItWhenItClears) {
  const Device device = Scan()[2];
  Settle(device);
  node_.SetHealth(2, 3, {0x80A18008});
  const Evidence evidence = backend_.Check(device);
  EXPECT_EQ(Say(evidence), "fatal npu-fault fault 80A18008 (RestartNPU)");
  EXPECT_EQ(evidence.remedy, Remedy::kReset);
  node_.SetHealth(2, 0);
  EXPECT_EQ(Check(device), "good");
  recorder_.AwaitNews();
  EXPECT_EQ(recorder_.reports, std::vector<std::string>{Of(2, "reset")});
}

TEST_F(AscendTest, HealthWithoutACodeCountsFromMajorOn) {
  const Device device = Scan()[0];
  node_.SetHealth(0, 1);
  EXPECT_EQ(Check(device), "good");
  node_.SetHealth(0, 2);
  EXPECT_EQ(Check(device), "fatal npu-fault DCMI's health is 2 of 3, without a fault code");
  node_.SetHealth(0, 0xffffffff);
  EXPECT_EQ(Check(device), "fatal device-lost DCMI says that the chip is absent");
  node_.SetHealth(0, 3, {0x81078603});
  EXPECT_EQ(Check(device), "good") << "the table knows the code";
}

TEST_F(AscendTest, ALinkThatStaysDownTakesTheChipOut) {
  const Device device = Scan()[0];
  node_.SetHealth(0, 1, {0x81078603});
  EXPECT_EQ(Check(device), "good");
  clock_.Advance(Duration(19'999));
  EXPECT_EQ(Check(device), "good");
  clock_.Advance(Duration(1));
  const Evidence evidence = backend_.Check(device);
  EXPECT_EQ(Say(evidence), "fatal npu-fault fault 81078603: a network link stays down");
  EXPECT_EQ(evidence.probation, Duration(60'000));
  node_.SetHealth(0, 0);
  EXPECT_EQ(Check(device), "good");
  node_.SetHealth(0, 1, {0x81078603});
  EXPECT_EQ(Check(device), "good") << "it begins anew";
}

TEST_F(AscendTest, ADroppedCardIsLostAndComesBack) {
  const Device device = Scan()[3];
  Settle(device);
  node_.Fail("*", 3, -8012);
  EXPECT_EQ(Check(device),
            "fatal device-lost dcmi_get_device_die_v2: the device is not ready (-8012)");
  EXPECT_EQ(Scan().size(), 8U) << "it stays in the list";
  node_.Mend();
  EXPECT_EQ(Check(device), "good");
  recorder_.AwaitNews();
  EXPECT_EQ(recorder_.reports, std::vector<std::string>{Of(3, "reset")});
}

TEST_F(AscendTest, AChipThatGivesNoAnswerIsNotGood) {
  const Device device = Scan()[3];
  node_.Fail("dcmi_get_device_health", 3, -8008);
  EXPECT_EQ(Check(device), "unknown unreadable dcmi_get_device_health: it failed (-8008)");
}

TEST_F(AscendTest, AnEventTakesTheChipOutAtOnce) {
  Scan();
  node_.Tell(6, 0x80A18008, 3, 1);
  recorder_.AwaitNews();
  EXPECT_EQ(recorder_.reports,
            std::vector<std::string>{Of(6, "npu-fault fault 80A18008 (RestartNPU)")});
  EXPECT_EQ(events_.errors, std::vector<std::string>{Id(6) + " 80A18008"});
}

TEST_F(AscendTest, AnEventOfADroppedCardSaysSo) {
  Scan();
  node_.Tell(6, 0x40F84E00, 3, 1);
  recorder_.AwaitNews();
  EXPECT_EQ(recorder_.reports,
            std::vector<std::string>{Of(6, "device-lost fault 40F84E00 (RestartNPU)")});
}

TEST_F(AscendTest, AnEventDuringACheckIsNewerThanItsAnswer) {
  const Device device = Scan()[6];
  node_.Fail("dcmi_get_device_errorcode_v2", 6, 0);
  std::vector<std::future<std::string>> checks;
  for (int i = 0; i < 2; ++i) {
    checks.push_back(std::async(std::launch::async, [&] { return Check(device); }));
  }
  const auto is_done = [](std::future<std::string>& check) {
    return check.wait_for(Duration(1)) == std::future_status::ready;
  };
  // The one that ends has found that the other one has begun.
  while (!is_done(checks[0]) && !is_done(checks[1])) continue;
  std::future<std::string>& other = checks[is_done(checks[0]) ? 1 : 0];
  node_.Tell(6, 0x80A18008, 3, 1);
  recorder_.AwaitNews();
  node_.Mend();
  EXPECT_EQ(other.get(), "good");
  node_.Tell(6, 0x80A18008, 3, 0);
  recorder_.AwaitRescan();
  EXPECT_EQ(recorder_.reports,
            std::vector<std::string>{Of(6, "npu-fault fault 80A18008 (RestartNPU)")});
  EXPECT_EQ(Check(device), "good");
  recorder_.AwaitNews();
  EXPECT_EQ(recorder_.reports.back(), Of(6, "reset"));
}

TEST_F(AscendTest, AnEventIsNotOfAChipThatWasNeverRead) {
  node_.Fail("dcmi_get_device_chip_info_v2", 3, -8012);
  EXPECT_EQ(Scan().back().key.id, "card3-chip0");
  node_.Tell(0, 0x80A18008, 3, 1);
  recorder_.AwaitNews();
  EXPECT_EQ(recorder_.reports,
            std::vector<std::string>{Of(0, "npu-fault fault 80A18008 (RestartNPU)")});
  EXPECT_EQ(events_.errors, std::vector<std::string>{Id(0) + " 80A18008"});
}

TEST_F(AscendTest, ADieThatIsNoLongerToldIsNotAnotherChip) {
  const Device device = Scan()[1];
  node_.Fail("dcmi_get_device_die_v2", 1, -8255);
  EXPECT_EQ(Check(device),
            "unknown unreadable dcmi_get_device_die_v2: it is not supported (-8255)");
  EXPECT_EQ(Scan()[1], device);
}

TEST_F(AscendTest, AFaultThatHasClearedLeadsToChecks) {
  Scan();
  node_.Tell(6, 0x80A18008, 3, 0);
  recorder_.AwaitRescan();
  EXPECT_EQ(recorder_.reports, std::vector<std::string>());
}

TEST_F(AscendTest, AHarmlessEventIsOnlyCounted) {
  Scan();
  node_.Tell(1, 0x81078603, 1, 1);
  node_.Tell(1, 0x80A18008, 3, 0);
  recorder_.AwaitRescan();
  EXPECT_EQ(events_.errors, std::vector<std::string>{Id(1) + " 81078603"});
  EXPECT_EQ(recorder_.reports, std::vector<std::string>());
}

TEST_F(AscendTest, AnUnpluggedChipHasVanishedAndComesBack) {
  const Device device = Scan()[1];
  node_.Unplug(1);
  recorder_.AwaitRescan();
  EXPECT_EQ(Scan().size(), 7U);
  EXPECT_EQ(Check(device), "fatal vanished the driver no longer has it");
  node_.Return(1);
  recorder_.AwaitRescan();
  EXPECT_EQ(Scan().size(), 8U);
  EXPECT_EQ(Check(device), "good");
}

TEST_F(AscendTest, AnotherChipInItsPlaceIsNotTheSame) {
  const Device device = Scan()[1];
  SimNode changed = node_.node();
  changed.chips[1].die[0] = 7;
  WriteText(directory_ + kDescriptionPath, TextOf(changed));
  EXPECT_EQ(Check(device), "fatal vanished another chip is in its place");
}

TEST_F(AscendTest, ANodeThatIsGoneTakesTheChipOut) {
  const Device device = Scan()[1];
  ASSERT_TRUE(os::RemoveFile(directory_ + "/dev/davinci1"));
  EXPECT_EQ(Check(device), "fatal vanished /dev/davinci1 is gone");
}

TEST_F(AscendTest, ADriverThatGoesAndComesBackIsSeen) {
  const Device device = Scan()[0];
  node_.RemoveDriver();
  recorder_.AwaitRescan();
  EXPECT_EQ(backend_.Scan().error().reason, Reason::kDriverMissing);
  EXPECT_EQ(Check(device), "unknown driver-missing " + directory_ +
                               "/usr/local/dcmi/libdcmi.so is "
                               "gone");
  node_.InstallDriver();
  recorder_.AwaitRescan();
  EXPECT_EQ(Scan().size(), 8U);
  EXPECT_EQ(Check(device), "good");
}

TEST_F(AscendTest, ADriverThatCannotStartYetIsTriedAgain) {
  node_.Fail("dcmi_init", -1, -8005);
  EXPECT_EQ(backend_.Scan().error(),
            (Error{Reason::kDriverMissing,
                   "cannot start DCMI from " + directory_ +
                       "/usr/local/dcmi/libdcmi.so: dcmi_init: the driver cannot be reached "
                       "(-8005)"}));
  node_.Mend();
  EXPECT_EQ(Scan().size(), 8U);
}

TEST_F(AscendTest, ANodeWithoutAChipHasNoDevices) {
  node_.RemoveDriver();
  for (size_t chip = 0; chip < 8; ++chip) node_.Unplug(chip);
  EXPECT_EQ(Scan(), std::vector<Device>());
}

TEST_F(AscendTest, WhileItIsReleasedTheDriverIsNotCalled) {
  const Device device = Scan()[0];
  EXPECT_TRUE(backend_.Release());
  EXPECT_EQ(backend_.Scan().error().reason, Reason::kReleased);
  EXPECT_EQ(Check(device), "unknown released DCMI was closed by 'tessera release'");
  EXPECT_EQ(backend_.HeldBy(),
            std::vector<std::string>{directory_ +
                                     "/usr/local/dcmi/libdcmi.so stays loaded, as DCMI cannot end "
                                     "its threads: end the agent for what needs an unloaded "
                                     "driver"});
  backend_.TakeUp();
  EXPECT_EQ(Scan().size(), 8U);
}

}  // namespace
}  // namespace tessera::ascend
