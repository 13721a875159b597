// SPDX-License-Identifier: Apache-2.0
#include "backend/ascend/vnpus.h"

#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "backend/ascend/ascend.h"
#include "backend/ascend/node_test.h"
#include "backend/recorder_test.h"

namespace tessera::ascend {
namespace {

class VnpusTest : public NodeTest {
 protected:
  VnpusTest() { devices_ = backend_.Scan().value(); }

  // A request for the devices of these places in the list.
  PrepareRequest RequestOf(const std::string& grant, const std::vector<size_t>& places) const {
    PrepareRequest request{.grant = grant, .pod_uid = "pod", .share_ids = {}, .devices = {}};
    for (const size_t place : places) request.devices.push_back(devices_[place]);
    request.deadline = SystemClock().Now() + Duration(10'000);
    return request;
  }
  Result<Prepared> Prepare(const std::string& grant, const std::vector<size_t>& places) {
    return backend_.preparer()->Prepare(RequestOf(grant, places));
  }
  Status Unprepare(const std::string& grant) {
    return backend_.preparer()->Unprepare(
        {.grant = grant, .pod_uid = "pod", .share_ids = {}, .devices = {}});
  }
  std::string Check(size_t place) { return Say(backend_.Check(devices_[place])); }
  // The record of grant "a" says that vNPU 107 of the first device is in this state.
  void PutRecord(VnpuState state, std::optional<uint32_t> id = 107) {
    ASSERT_TRUE(records_.Put("a", {.place = {},
                                   .id = id,
                                   .name = "vir05_1c_16g",
                                   .device = devices_[0].key.id,
                                   .state = state}));
  }

  AscendNode node_{directory_, Eight910b3()};
  os::Loop loop_;
  AscendBackend backend_{"huawei.com/quarter",
                         {.vnpu_template = "vir05_1c_16g"},
                         root_,
                         directory_ + "/state",
                         loop_,
                         SystemClock(),
                         {}};
  std::vector<Device> devices_;  // four of each chip
  const VnpuRecords records_{directory_ + "/state/ascend"};
};

TEST_F(VnpusTest, AGrantHasAVnpuForEachDeviceUntilItEnds) {
  const auto prepared = Prepare("a", {0, 4});
  ASSERT_TRUE(prepared) << prepared.error().Text();
  ASSERT_EQ(prepared->edits.nodes.size(), 2U);
  EXPECT_EQ(
      prepared->edits.nodes[0],
      (cdi::Node{.path = "/dev/davinci107", .host_path = "/dev/vdavinci107", .permissions = "rw"}));
  EXPECT_EQ(prepared->edits.nodes[1].path, "/dev/davinci123");
  EXPECT_EQ(node_.Vnpus(), (std::vector<std::string>{"107 vir05_1c_16g", "123 vir05_1c_16g"}));
  EXPECT_TRUE(Unprepare("a"));
  EXPECT_EQ(node_.Vnpus(), std::vector<std::string>());
  EXPECT_TRUE(Unprepare("a")) << "it may be repeated";
}

TEST_F(VnpusTest, GrantsOfOneChipHaveVnpusOfTheirOwn) {
  EXPECT_TRUE(Prepare("a", {0}));
  EXPECT_TRUE(Prepare("b", {1}));
  EXPECT_TRUE(Unprepare("a"));
  EXPECT_EQ(node_.Vnpus(), std::vector<std::string>{"106 vir05_1c_16g"});
}

TEST_F(VnpusTest, AVnpuOfAnotherProgramIsNeverDestroyed) {
  node_.MakeVnpu(0, 107, "vir05_1c_16g");
  EXPECT_TRUE(Prepare("a", {0}));
  EXPECT_TRUE(Unprepare("a"));
  EXPECT_EQ(node_.Vnpus(), std::vector<std::string>{"107 vir05_1c_16g"});
}

TEST_F(VnpusTest, AVnpuOfAnotherProgramWithTheNumberIsNotDestroyed) {
  EXPECT_TRUE(Prepare("a", {0}));
  node_.DestroyVnpu(107);
  node_.MakeVnpu(0, 107, "vir10_3c_32g");
  EXPECT_TRUE(Unprepare("a"));
  EXPECT_EQ(node_.Vnpus(), std::vector<std::string>{"107 vir10_3c_32g"});
}

TEST_F(VnpusTest, AVnpuThatAnotherProgramDestroyedTakesItsDeviceOut) {
  EXPECT_TRUE(Prepare("a", {0, 1}));
  EXPECT_EQ(Check(0), "good");
  node_.DestroyVnpu(107);  // as HAMi's plugin does with a pod that is idle
  EXPECT_EQ(Check(0), "fatal vnpu-lost vNPU 107 was destroyed by another program");
  EXPECT_EQ(Check(1), "good");
  EXPECT_TRUE(Unprepare("a"));
  EXPECT_EQ(Check(0), "good");
  EXPECT_EQ(node_.Vnpus(), std::vector<std::string>());
}

TEST_F(VnpusTest, AContainerThatStartsAgainGetsItsOwnVnpuOrNone) {
  const Prepared prepared = Prepare("a", {0}).value();
  const auto held = [&] { return backend_.preparer()->CheckHeld("a", prepared); };
  EXPECT_TRUE(held());
  const Error lost{Reason::kVnpuLost,
                   "/dev/vdavinci107 is the container's no longer, as another program destroyed "
                   "the vNPU: delete the pod"};
  node_.DestroyVnpu(107);
  EXPECT_EQ(held().error(), lost);
  node_.MakeVnpu(0, 107, "vir05_1c_16g");
  EXPECT_EQ(held().error(), lost) << "it is another program's";
  EXPECT_TRUE(Unprepare("a"));
  EXPECT_EQ(held().error(), lost);
  EXPECT_EQ(node_.Vnpus(), std::vector<std::string>{"107 vir05_1c_16g"});
}

TEST_F(VnpusTest, AVnpuOfAnotherTemplateInItsPlaceIsNotAContainersThatStartsAgain) {
  const Prepared prepared = Prepare("a", {0}).value();
  node_.DestroyVnpu(107);
  node_.MakeVnpu(0, 107, "vir10_3c_32g");
  EXPECT_EQ(backend_.preparer()->CheckHeld("a", prepared).error().reason, Reason::kVnpuLost);
}

TEST_F(VnpusTest, NobodyTellsOfAVnpuWhoseCardIsGone) {
  const Prepared prepared = Prepare("a", {0}).value();
  node_.Unplug(0);
  EXPECT_EQ(backend_.preparer()->CheckHeld("a", prepared).error(),
            (Error{Reason::kDeviceLost, "card 0 is gone, so its vNPU cannot be destroyed"}));
  node_.Return(0);
  EXPECT_TRUE(backend_.preparer()->CheckHeld("a", prepared));
}

TEST_F(VnpusTest, AVnpuInUseIsDestroyedLater) {
  EXPECT_TRUE(Prepare("a", {0}));
  node_.UseVnpu(107, true);
  EXPECT_EQ(Unprepare("a").error(),
            (Error{Reason::kUnavailable,
                   "cannot destroy vNPU 107: dcmi_set_destroy_vdevice: it failed (-8020)"}));
  node_.UseVnpu(107, false);
  EXPECT_TRUE(Unprepare("a"));
  EXPECT_EQ(node_.Vnpus(), std::vector<std::string>());
}

TEST_F(VnpusTest, AnotherAgentDestroysWhatACrashedOneMade) {
  EXPECT_TRUE(Prepare("a", {0}));
  os::Loop loop;
  AscendBackend later("huawei.com/quarter", {.vnpu_template = "vir05_1c_16g"}, root_,
                      directory_ + "/state", loop, SystemClock(), {});
  EXPECT_TRUE(later.preparer()->Unprepare(
      {.grant = "a", .pod_uid = "pod", .share_ids = {}, .devices = {}}));
  EXPECT_EQ(node_.Vnpus(), std::vector<std::string>());
}

TEST_F(VnpusTest, AVnpuOfAnEarlierBootIsNotTheAgentsOwn) {
  node_.MakeVnpu(0, 107, "vir05_1c_16g");
  ASSERT_TRUE(os::MakeDirectories(directory_ + "/state/ascend"));
  ASSERT_TRUE(os::ReplaceFile(
      directory_ + "/state/ascend/a.vnpus",
      TextOf(VnpuRecord{
          .boot = "earlier",
          .vnpus = {{.place = {}, .id = 107, .name = "vir05_1c_16g", .device = "die-0"}}})));
  EXPECT_TRUE(Unprepare("a"));
  EXPECT_EQ(node_.Vnpus(), std::vector<std::string>{"107 vir05_1c_16g"});
}

TEST_F(VnpusTest, AChipWithoutRoomFailsThePreparation) {
  node_.MakeVnpu(0, 100, "vir16");
  EXPECT_EQ(Prepare("a", {0}).error(),
            (Error{Reason::kUnavailable,
                   "cannot make a vNPU of template vir05_1c_16g on chip 0: dcmi_create_vdevice: it "
                   "failed (-8020)"}));
  EXPECT_TRUE(Unprepare("a"));
  EXPECT_EQ(node_.Vnpus(), std::vector<std::string>{"100 vir16"});
}

TEST_F(VnpusTest, ADriverThatRefusesTheNumberChoosesOne) {
  for (uint32_t id = 100; id < 108; ++id) node_.MakeVnpu(0, id, "vir01");
  node_.DestroyVnpu(107);
  node_.RefuseNumbers();
  EXPECT_TRUE(Prepare("a", {0}));
  EXPECT_EQ(node_.Vnpus().back(), "107 vir05_1c_16g");
  EXPECT_TRUE(Unprepare("a"));
  EXPECT_EQ(node_.Vnpus().size(), 7U);
}

TEST_F(VnpusTest, ADriverThatIsReleasedIsAskedAgain) {
  EXPECT_TRUE(Prepare("a", {0}));
  EXPECT_TRUE(backend_.Release());
  EXPECT_EQ(Unprepare("a").error().reason, Reason::kReleased);
  EXPECT_EQ(Prepare("b", {1}).error().reason, Reason::kReleased);
  backend_.TakeUp();
  EXPECT_TRUE(Unprepare("a"));
}

TEST_F(VnpusTest, TheVnpuOfACardThatIsGoneIsDestroyedOnceItIsBack) {
  EXPECT_TRUE(Prepare("a", {0}));
  node_.Unplug(0);
  EXPECT_EQ(Unprepare("a").error(),
            (Error{Reason::kDeviceLost, "card 0 is gone, so its vNPU cannot be destroyed"}));
  node_.Return(0);
  EXPECT_TRUE(Unprepare("a"));
  EXPECT_EQ(node_.Vnpus(), std::vector<std::string>());
}

TEST_F(VnpusTest, ARetriedUndoingLeavesANumberThatAnotherGrantHasNow) {
  EXPECT_TRUE(Prepare("a", {0, 4}));
  node_.UseVnpu(123, true);
  EXPECT_EQ(Unprepare("a").error().reason, Reason::kUnavailable);
  EXPECT_TRUE(Prepare("b", {1}));
  EXPECT_EQ(node_.Vnpus(), (std::vector<std::string>{"107 vir05_1c_16g", "123 vir05_1c_16g"}));
  node_.UseVnpu(123, false);
  EXPECT_TRUE(Unprepare("a"));
  EXPECT_EQ(node_.Vnpus(), std::vector<std::string>{"107 vir05_1c_16g"});
}

TEST_F(VnpusTest, ANumberIsNotChosenBeforeItsGrantIsUndone) {
  PutRecord(VnpuState::kUndoing);  // the agent ended after the driver had destroyed it
  EXPECT_TRUE(Prepare("b", {1}));
  EXPECT_EQ(node_.Vnpus(), std::vector<std::string>{"106 vir05_1c_16g"});
  EXPECT_TRUE(Unprepare("a"));
  EXPECT_EQ(node_.Vnpus(), std::vector<std::string>{"106 vir05_1c_16g"});
}

TEST_F(VnpusTest, ANumberThatTheDriverGaveAwayIsNoEarlierGrants) {
  for (uint32_t id = 100; id < 107; ++id) node_.MakeVnpu(0, id, "vir01");
  node_.RefuseNumbers();
  PutRecord(VnpuState::kUndoing);
  EXPECT_TRUE(Prepare("b", {1}));
  EXPECT_EQ(node_.Vnpus().back(), "107 vir05_1c_16g");
  EXPECT_TRUE(Unprepare("a"));
  EXPECT_EQ(node_.Vnpus().back(), "107 vir05_1c_16g");
  EXPECT_TRUE(Unprepare("b"));
  EXPECT_EQ(node_.Vnpus().back(), "106 vir01");
}

TEST_F(VnpusTest, TheNumberOfALostVnpuIsNoOtherGrantsBeforeItsOwnHasEnded) {
  for (uint32_t id = 100; id < 107; ++id) node_.MakeVnpu(0, id, "vir01");
  node_.RefuseNumbers();
  PutRecord(VnpuState::kMade);  // another program has destroyed it
  for (int attempt = 0; attempt < 2; ++attempt) {
    EXPECT_EQ(Prepare("b", {1}).error(),
              (Error{Reason::kUnavailable,
                     "the driver made vNPU 107, whose number grant a has until its pod has ended: "
                     "another program destroyed that grant's"}));
    EXPECT_TRUE(Unprepare("b"));
    EXPECT_EQ(node_.Vnpus().back(), "106 vir01");
  }
  EXPECT_TRUE(Unprepare("a"));
  EXPECT_TRUE(Prepare("b", {1}));
}

TEST_F(VnpusTest, AVnpuOfAnotherProgramInPlaceOfAFailedOneIsNotDestroyed) {
  for (const int code : {dcmi::kBusy, -8008}) {
    node_.Fail("dcmi_create_vdevice", 0, code);
    EXPECT_EQ(Prepare("a", {0}).error().reason, Reason::kUnavailable);
    node_.Mend();
    node_.MakeVnpu(0, 107, "vir05_1c_16g");
    EXPECT_TRUE(Unprepare("a"));
    EXPECT_EQ(node_.Vnpus(), std::vector<std::string>{"107 vir05_1c_16g"});
    node_.DestroyVnpu(107);
  }
}

TEST_F(VnpusTest, AVnpuOfAnotherProgramInPlaceOfALostOneIsNotDestroyed) {
  EXPECT_TRUE(Prepare("a", {0}));
  node_.DestroyVnpu(107);
  EXPECT_EQ(Check(0), "fatal vnpu-lost vNPU 107 was destroyed by another program");
  node_.MakeVnpu(0, 107, "vir05_1c_16g");
  EXPECT_EQ(Check(0), "fatal vnpu-lost vNPU 107 was destroyed by another program");
  EXPECT_TRUE(Unprepare("a"));
  EXPECT_EQ(node_.Vnpus(), std::vector<std::string>{"107 vir05_1c_16g"});
}

TEST_F(VnpusTest, AVnpuThatACrashedAgentWasMakingIsDestroyed) {
  PutRecord(VnpuState::kAsked);
  node_.MakeVnpu(0, 107, "vir05_1c_16g");
  EXPECT_TRUE(Unprepare("a"));
  EXPECT_EQ(node_.Vnpus(), std::vector<std::string>());
}

TEST_F(VnpusTest, AVnpuOfAnUnknownNumberIsLeftToAPerson) {
  PutRecord(VnpuState::kAsked, std::nullopt);
  node_.MakeVnpu(0, 100, "vir05_1c_16g");
  EXPECT_TRUE(Unprepare("a"));
  EXPECT_EQ(node_.Vnpus(), std::vector<std::string>{"100 vir05_1c_16g"});
}

TEST_F(VnpusTest, ACreationThatHangsStopsNoOtherChip) {
  node_.Fail("dcmi_create_vdevice", 0, 0);
  auto hanging = std::async(std::launch::async, [&] { return Prepare("a", {0}); });
  while (records_.Now()->empty()) std::this_thread::yield();
  EXPECT_TRUE(Prepare("b", {4}));
  PrepareRequest late = RequestOf("c", {1});
  late.deadline = SystemClock().Now();
  EXPECT_EQ(backend_.preparer()->Prepare(late).error(),
            (Error{Reason::kTimedOut, "another call for a vNPU of card 0 has not ended"}));
  EXPECT_EQ(Check(0), "good") << "what is being made is not lost";
  node_.Mend();
  EXPECT_TRUE(hanging.get());
}

TEST_F(VnpusTest, AVnpuThatIsBeingDestroyedIsNotLost) {
  PutRecord(VnpuState::kUndoing);
  EXPECT_EQ(Check(0), "good");
  PutRecord(VnpuState::kMade);
  EXPECT_EQ(Check(0), "fatal vnpu-lost vNPU 107 was destroyed by another program");
}

TEST_F(VnpusTest, ARecordThatCannotBeReadKeepsItsVnpuTheAgentsOwn) {
  EXPECT_TRUE(Prepare("a", {0}));
  const std::string path = directory_ + "/state/ascend/a.vnpus";
  ASSERT_TRUE(os::ReplaceFile(path, "x\n"));
  const Error error{Reason::kStateCorrupt, path + ": a line is no vNPU's: x"};
  EXPECT_EQ(Unprepare("a").error(), error);
  EXPECT_TRUE(os::Exists(path));
  EXPECT_EQ(backend_.Scan().error(), error);
  EXPECT_EQ(Check(0), "unknown state-corrupt " + error.message);
}

TEST_F(VnpusTest, OneCheckAloneHangsWithAChip) {
  node_.Fail("dcmi_get_device_health", 0, 0);
  std::vector<std::future<std::string>> checks;
  for (const size_t slot : {0U, 1U}) {
    checks.push_back(std::async(std::launch::async, [this, slot] { return Check(slot); }));
  }
  const auto is_done = [](std::future<std::string>& check) {
    return check.wait_for(Duration(1)) == std::future_status::ready;
  };
  while (!is_done(checks[0]) && !is_done(checks[1])) continue;
  if (is_done(checks[0])) std::swap(checks[0], checks[1]);
  EXPECT_EQ(checks[1].get(), "unknown check-timed-out an earlier check of the chip has not ended");
  node_.Mend();
  EXPECT_EQ(checks[0].get(), "good");
}

TEST_F(VnpusTest, TheDevicesOfAChipWithAGrantStayInTheList) {
  EXPECT_TRUE(Prepare("a", {0}));
  const std::vector<Device> now = backend_.Scan().value();
  EXPECT_EQ(now, devices_);
}

}  // namespace
}  // namespace tessera::ascend
