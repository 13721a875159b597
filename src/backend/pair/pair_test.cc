// SPDX-License-Identifier: Apache-2.0
#include "backend/pair/pair.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <future>

#include "backend/recorder_test.h"

namespace tessera {
namespace {

constexpr char kGpu[] = "a.com/gpu";
constexpr char kNic[] = "b.com/nic";
constexpr char kPair[] = "a.com/gpu-nic";

// Behind one of two switches, with two functions each.
Device Function(const std::string& source, int which, int bus) {
  Device device;
  const std::string address = fmt::format("000{}:{:02x}:00.0", which, bus);
  device.key = {source, address};
  device.model = source == kGpu ? "GPU" : "card";
  device.address = device.visible_as = address;
  device.numa_nodes = {which};
  device.nodes = {{"/dev/" + address, "/dev/" + address, "rw"}};
  device.traits = DeviceTraits{
      .pci_path = fmt::format("pci000{0}:00/000{0}:00:01.0/000{0}:01:00.0/000{0}:02:{1:02x}.0/{2}",
                              which, bus, address)};
  return device;
}

class PairTest : public testing::Test {
 protected:
  void Put(const std::string& resource, std::vector<Device> devices, FoundDevices::Terms terms) {
    inventory_ = Merge(inventory_, resource, std::move(devices), [](const auto&) {
                   return false;
                 }).inventory;
    found_->Put(resource, std::move(terms), inventory_);
  }
  void PutGpus(std::vector<Device> devices) { Put(kGpu, std::move(devices), {.variable = "GPUS"}); }
  void PutNics(std::vector<Device> devices, int shares = 1) {
    Put(kNic, std::move(devices), {.shares = shares});
  }
  static std::vector<Device> Four(const std::string& source, int first) {
    return {Function(source, 0, first), Function(source, 0, first + 1), Function(source, 1, first),
            Function(source, 1, first + 1)};
  }
  std::string Pairs() {
    const auto found = backend_.Scan();
    if (!found) return found.error().message;
    std::string all;
    for (const Device& device : *found) all += device.key.id + "\n";
    return all;
  }

  os::Loop loop_;
  Recorder events_{loop_};
  InventoryPtr inventory_ = std::make_shared<Inventory>();
  const std::shared_ptr<FoundDevices> found_ = std::make_shared<FoundDevices>();
  PairBackend backend_{kPair, {.gpu = kGpu, .nic = kNic}, found_, Duration(0)};
};

TEST_F(PairTest, APairHasWhatAContainerNeedsOfAGpuAndTheCardBehindItsSwitch) {
  PutGpus({Function(kGpu, 1, 3)});
  PutNics({Function(kNic, 0, 5), Function(kNic, 1, 5)});

  Device expected;
  expected.key = {kPair, "0001:03:00.0_0001:05:00.0"};
  expected.model = "GPU + card, behind one switch";
  expected.address = "0001:03:00.0";
  expected.visible_as = "0001:03:00.0_0001:05:00.0";
  expected.numa_nodes = {1};
  expected.nodes = {{"/dev/0001:03:00.0", "/dev/0001:03:00.0", "rw"},
                    {"/dev/0001:05:00.0", "/dev/0001:05:00.0", "rw"}};
  expected.traits = DeviceTraits{.variables = {{"GPUS", "0001:03:00.0"}},
                                 .takes = {"a.com/gpu/0001:03:00.0", "b.com/nic/0001:05:00.0"},
                                 .parts = {{kGpu, "0001:03:00.0"}, {kNic, "0001:05:00.0"}}};
  EXPECT_EQ(backend_.Scan().value(), std::vector<Device>{expected});
}

TEST_F(PairTest, ItsCdiDevicesHaveWhatTheDocumentsOfBothPartsSay) {
  const cdi::Parts driver{.common = {.env = {"GPUS=void"}, .nodes = {{.path = "/dev/ctl"}}},
                          .devices = {{"0001:03:00.0", {.nodes = {{.path = "/dev/gpu"}}}}}};
  Put(kGpu, {Function(kGpu, 1, 3)},
      {.variable = "GPUS", .cdi = std::make_shared<const cdi::Parts>(driver)});
  Device nic = Function(kNic, 1, 5);
  nic.traits = DeviceTraits{.variables = {{"PCI", "0001:05:00.0"}}};
  PutNics({nic});

  const auto parts = backend_.DescribeForCdi(backend_.Scan().value());

  EXPECT_EQ(*parts,
            (cdi::Parts{.common = driver.common,
                        .devices = {{"0001:03:00.0_0001:05:00.0",
                                     {.env = {"PCI_0001_05_00_0=0001:05:00.0"},
                                      .nodes = {{.path = "/dev/0001:05:00.0", .permissions = "rw"},
                                                {.path = "/dev/gpu"}}}}}}));
}

TEST_F(PairTest, PairsAreAsNearToEachOtherAsTheirGpus) {
  std::vector<Device> gpus = Four(kGpu, 3);
  gpus[0].links = {{.peer = "0001:04:00.0", .points = 100}};
  PutGpus(gpus);
  PutNics(Four(kNic, 5));

  const std::vector<Device> pairs = backend_.Scan().value();

  EXPECT_EQ(pairs[0].links, (std::vector<Link>{{"0001:04:00.0_0001:06:00.0", 100}}));
  EXPECT_EQ(pairs[1].links, (std::vector<Link>{{"0000:03:00.0_0000:05:00.0", 50}}));
}

TEST_F(PairTest, ASharedCardIsInSeveralPairsAndTakenByNone) {
  PutGpus(Four(kGpu, 3));
  PutNics({Function(kNic, 0, 5)}, 3);

  const std::vector<Device> pairs = backend_.Scan().value();

  EXPECT_EQ(pairs.size(), 3U);
  EXPECT_EQ(pairs[0].traits->takes, std::vector<std::string>{"a.com/gpu/0000:03:00.0"});
  EXPECT_EQ(pairs[0].traits->parts,
            (std::vector<DeviceKey>{{kGpu, "0000:03:00.0"}, {kNic, "0000:05:00.0"}}));
}

TEST_F(PairTest, ACardThatSomebodyHoldsWholeIsTakenWhole) {
  PutGpus(Four(kGpu, 3));
  Put(kNic, {Function(kNic, 0, 5)}, {.shares = 2, .whole = {"0000:05:00.0"}});

  const std::vector<Device> pairs = backend_.Scan().value();

  EXPECT_EQ(pairs.size(), 2U);
  EXPECT_EQ(pairs[0].traits->takes,
            (std::vector<std::string>{"a.com/gpu/0000:03:00.0", "b.com/nic/0000:05:00.0"}));
}

TEST_F(PairTest, ALostCardCostsItsOwnPairAlone) {
  PutGpus({Function(kGpu, 0, 3), Function(kGpu, 0, 4)});
  PutNics({Function(kNic, 0, 5), Function(kNic, 0, 6)});
  EXPECT_EQ(Pairs(), "0000:03:00.0_0000:05:00.0\n0000:04:00.0_0000:06:00.0\n");
  const Device first = backend_.Scan().value()[0];

  PutNics({Function(kNic, 0, 6)});

  EXPECT_EQ(Pairs(), "0000:04:00.0_0000:06:00.0\n");
  EXPECT_EQ(Say(backend_.Check(first)), "fatal vanished its parts are no pair any more");
  EXPECT_EQ(Say(backend_.Check(backend_.Scan().value()[0])), "good");
}

TEST_F(PairTest, APairOfWhichAPartCannotBeReadStaysAsItWas) {
  PutGpus({Function(kGpu, 0, 3), Function(kGpu, 0, 4)});
  PutNics({Function(kNic, 0, 5), Function(kNic, 0, 6)});
  std::vector<Device> expected = backend_.Scan().value();
  Device torn;
  torn.key = {kNic, "0000:05:00.0"};
  torn.defect = Error{Reason::kUnreadable, "torn"};

  PutNics({torn, Function(kNic, 0, 6), Function(kNic, 0, 7)});

  expected[0].defect = torn.defect;
  EXPECT_EQ(backend_.Scan().value(), expected);
}

TEST_F(PairTest, PairsOfAnEarlierProcessAreGoodBeforeTheFirstScan) {
  Device former;
  former.key = {kPair, "0000:03:00.0_0000:05:00.0"};
  EXPECT_EQ(Say(backend_.Check(former)), "fatal vanished its parts are no pair any more");

  Put(kPair, {former}, {});

  EXPECT_EQ(Say(backend_.Check(former)), "good");
}

TEST_F(PairTest, PairsOfAnEarlierProcessStay) {
  PutGpus({Function(kGpu, 0, 3), Function(kGpu, 0, 4)});
  PutNics({Function(kNic, 0, 5), Function(kNic, 0, 6)});
  Device crosswise;
  crosswise.key = {kPair, "0000:03:00.0_0000:06:00.0"};
  crosswise.traits = DeviceTraits{.parts = {{kGpu, "0000:03:00.0"}, {kNic, "0000:06:00.0"}}};
  Put(kPair, {crosswise}, {});

  EXPECT_EQ(Pairs(), "0000:03:00.0_0000:06:00.0\n0000:04:00.0_0000:05:00.0\n");
}

TEST_F(PairTest, GpusThatGoTogetherArePairedTogetherOrNotAtAll) {
  std::vector<Device> gpus = Four(kGpu, 3);
  for (size_t i = 0; i < gpus.size(); ++i) {
    DeviceTraits traits = *gpus[i].traits;
    traits.bundle = i < 2 ? "a" : "b";
    gpus[i].traits = traits;
  }
  PutGpus(gpus);
  PutNics({Function(kNic, 0, 5), Function(kNic, 0, 6), Function(kNic, 1, 5)});

  const std::vector<Device> pairs = backend_.Scan().value();

  EXPECT_EQ(pairs.size(), 2U);
  EXPECT_EQ(pairs[0].traits->bundle, "a");
  EXPECT_EQ(pairs[1].key.id, "0000:04:00.0_0000:06:00.0");
}

TEST_F(PairTest, NothingIsPairedBeforeBothAreScanned) {
  EXPECT_EQ(Pairs(), "a.com/gpu has not been scanned yet");
  PutGpus({Function(kGpu, 0, 3)});
  EXPECT_EQ(Pairs(), "b.com/nic has not been scanned yet");
  PutNics({});
  EXPECT_EQ(Pairs(), "");
}

TEST_F(PairTest, AChangeOfAPartIsAReasonToScan) {
  ASSERT_TRUE(backend_.Start(events_));
  PutGpus({Function(kGpu, 0, 3)});
  EXPECT_EQ(events_.rescans, 1);

  backend_.Stop();
  PutNics({});
  EXPECT_EQ(events_.rescans, 1);
}

TEST_F(PairTest, TheFirstScanWaitsForThePartsAndNotLongerThanTheBackend) {
  PairBackend patient{kPair, {.gpu = kGpu, .nic = kNic}, found_, Duration(600'000)};
  ASSERT_TRUE(patient.Start(events_));
  auto scan = std::async(std::launch::async, [&] { return patient.Scan(); });
  PutGpus({Function(kGpu, 0, 3)});
  PutNics({Function(kNic, 0, 5)});
  EXPECT_EQ(scan.get().value().size(), 1U);

  found_->Drop(kNic);
  scan = std::async(std::launch::async, [&] { return patient.Scan(); });
  patient.Stop();
  EXPECT_EQ(scan.get().error().reason, Reason::kUnavailable);
}

}  // namespace
}  // namespace tessera
