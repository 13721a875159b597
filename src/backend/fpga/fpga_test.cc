// SPDX-License-Identifier: Apache-2.0
#include "backend/fpga/fpga.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "backend/fpga/node_test.h"
#include "backend/recorder_test.h"
#include "fpga/node.h"
#include "os/fd.h"

namespace tessera::fpga {
namespace {

using Texts = std::vector<std::string>;

constexpr char kLoopback[] = "af-ce4.d84.zkiWk5jwXzOUbVYHCL4QithCTcSko8QT-J5DNoP5BAs";
constexpr char kPort[] =
    "/sys/devices/pci0000:5d/0000:5d:00.0/0000:5e:00.0/fpga_region/region0/dfl-port.0";

// The backend of a resource on a simulated node.
class FpgaTest : public NodeTest {
 protected:
  void Serve(SimNode node, FpgaConfig config, const std::string& resource = "a.com/fpga") {
    if (!node_) node_.emplace(directory_, std::move(node));
    if (backend_) backend_->Stop();
    backend_.emplace(resource, std::move(config), root_, loop_, Duration(20), found_);
    EXPECT_TRUE(backend_->Start(events_));
  }
  ~FpgaTest() override {
    if (backend_) backend_->Stop();
  }

  std::vector<Device> Scan() {
    const auto devices = backend_->Scan();
    EXPECT_TRUE(devices) << devices.error().Text();
    return devices.value_or(std::vector<Device>());
  }
  // "a.com/fpga/0000:5e:00.0-0", one each, with the defect.
  Texts Listed() {
    Texts texts;
    for (const Device& device : Scan()) {
      texts.push_back(device.key.Text() + (device.defect ? " " + device.defect->message : ""));
    }
    return texts;
  }

  // Of three devices, the second card has the last two.
  static void ExpectTheLostCardKept(const std::vector<Device>& before,
                                    const std::vector<Device>& after) {
    ASSERT_EQ(after.size(), 3U);
    for (size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(after[i].key, before[i].key);
      EXPECT_EQ(after[i].traits->takes, before[i].traits->takes);
      EXPECT_EQ(after[i].defect.has_value(), i > 0);
    }
  }

  std::optional<FpgaNode> node_;
  const std::shared_ptr<FoundDevices> found_ = std::make_shared<FoundDevices>();
  os::Loop loop_;
  Recorder events_{loop_};
  std::optional<FpgaBackend> backend_;
};

TEST_F(FpgaTest, ADeviceHasAllThatAContainerNeeds) {
  Serve(Pac(), {});
  const std::vector<Device> devices = Scan();
  ASSERT_EQ(devices.size(), 3U);
  Device expected;
  expected.key = {"a.com/fpga", "0000:be:00.0-0"};
  expected.model = "Intel FPGA 09c4";
  expected.address = "0000:be:00.0";
  expected.visible_as = "0000:be:00.0-0";
  expected.numa_nodes = {1};
  expected.nodes = {{"/dev/dfl-port.1", "/dev/dfl-port.1", "rw"}};
  expected.traits = DeviceTraits{.pci_path = "pci0000:bd/0000:bd:00.0/0000:be:00.0",
                                 .takes = {"fpga/0000:be:00.0/0"}};
  EXPECT_EQ(devices[1], expected);
}

TEST_F(FpgaTest, AFamilyHasAResourceForEachFunction) {
  Serve(Pac(), {.family = "fpga.intel.com/{profile}"}, "fpga.intel.com/{profile}");
  node_->SetAfu(1, 0, std::string(32, '0'));
  const Texts all = Listed();
  const std::string loopback = std::string("fpga.intel.com/") + kLoopback;
  EXPECT_EQ(all[0], loopback + "/0000:5e:00.0-0");
  EXPECT_EQ(all[1],
            "fpga.intel.com/af-ce4.000.zkiWk5jwXzOUbVYHCL4QigAAAAAAAAAAAAAAAAAAAAA/0000:be:00.0-0");
  EXPECT_EQ(all[2], loopback + "/0000:be:00.0-1");
  Serve({}, {.family = "fpga.intel.com/{profile}"}, loopback);
  EXPECT_EQ(Listed(), (Texts{all[0], all[2]}));
}

TEST_F(FpgaTest, AResourceOfOneProfileHasItsDevicesAlone) {
  Serve(Alveo(),
        {.vendor = FpgaConfig::Vendor::kXilinx, .profile = "xilinx_u250_gen3x16_xdma_shell_4_1-0"});
  EXPECT_EQ(Listed(), Texts{"a.com/fpga/0000:d8:00.1"});
}

TEST_F(FpgaTest, ACardInTroubleStaysInTheResourceThatItWasIn) {
  Serve(Pac(), {.profile = kLoopback});
  EXPECT_EQ(Scan().size(), 3U);
  node_->SetAfu(0, 0, std::string(32, 'f'));
  EXPECT_EQ(Listed(), (Texts{"a.com/fpga/0000:5e:00.0-0 " + std::string(kPort) +
                                 "/afu_id reads as ones: the card does not answer",
                             "a.com/fpga/0000:be:00.0-0", "a.com/fpga/0000:be:00.0-1"}));
}

// A lost card's ports all read as number 3.
TEST_F(FpgaTest, ALostCardsPortsKeepTheirIdsAndWhatTheyTake) {
  Serve(Pac(), {});
  const std::vector<Device> before = Scan();
  node_->Lose(1);

  ExpectTheLostCardKept(before, Scan());
}

TEST_F(FpgaTest, ABackendThatIsMadeAnewKnowsACardInTroubleByItsDevices) {
  const std::string family = "fpga.intel.com/{profile}";
  const std::string member = std::string("fpga.intel.com/") + kLoopback;
  Serve(Pac(), {});
  for (const std::string& resource : {family, member, std::string("a.com/fpga")}) {
    const FpgaConfig config{.family = resource == "a.com/fpga" ? "" : family};
    node_->Return(1);
    Serve({}, config, resource);
    const std::vector<Device> before = Scan();
    Inventory inventory;
    for (const Device& device : before) inventory.devices.push_back(device);
    found_->Put(resource, {}, std::make_shared<const Inventory>(inventory));
    node_->Lose(1);

    Serve({}, config, resource);
    ExpectTheLostCardKept(before, Scan());
  }
}

TEST_F(FpgaTest, ADeviceOfAU30ThatCannotBeReadStillGoesWithTheOther) {
  Serve(U30(), {.vendor = FpgaConfig::Vendor::kXilinx});
  EXPECT_EQ(Scan()[0].traits->bundle, "XFL1SWLOEQ4U");
  Write("/sys/devices/pci0000:3a/0000:3a:00.0/0000:3b:00.1/xmc.u.19922944/serial_num", "\xff");

  const Device unread = Scan()[0];

  EXPECT_EQ(unread.traits->bundle, "XFL1SWLOEQ4U");
  EXPECT_TRUE(unread.defect);
}

TEST_F(FpgaTest, ACardThatWasNeverReadIsOfAnUnknownProfile) {
  Serve(Alveo(), {.vendor = FpgaConfig::Vendor::kXilinx, .family = "amd.com/{profile}"},
        "amd.com/{profile}");
  node_->Load(1);
  EXPECT_EQ(Listed()[0],
            "amd.com/unknown/0000:af:00.0 0000:af:00.0 is still loading: its shell has "
            "no name yet");
}

TEST_F(FpgaTest, ACardThatWorksIsGood) {
  Serve(Pac(), {});
  for (const Device& device : Scan()) EXPECT_EQ(Say(backend_->Check(device)), "good");
  Serve({}, {.mode = FpgaConfig::Mode::kRegionDevel});
  for (const Device& device : Scan()) EXPECT_EQ(Say(backend_->Check(device)), "good");
}

TEST_F(FpgaTest, ALostCardIsOutCostsNoOtherAndReturns) {
  Serve(Pac(), {});
  const std::vector<Device> devices = Scan();
  node_->Lose(0);
  EXPECT_EQ(Say(backend_->Check(devices[0])),
            "fatal device-lost 0000:5e:00.0 no longer answers on its bus");
  EXPECT_EQ(Say(backend_->Check(devices[1])), "good");
  node_->Return(0);
  EXPECT_EQ(Say(backend_->Check(devices[0])), "good");
}

TEST_F(FpgaTest, ACardThatTheKernelSuspendedIsNotLost) {
  Serve(Alveo(), {.vendor = FpgaConfig::Vendor::kXilinx});
  const Device device = Scan()[1];
  const std::string function = "/sys/devices/pci0000:d7/0000:d7:00.0/0000:d8:00.1";
  Write(function + "/config", std::string(64, '\xff'));
  Write(function + "/power/runtime_status", "suspended\n");
  EXPECT_EQ(Say(backend_->Check(device)), "good");
}

TEST_F(FpgaTest, AVirtualFunctionWhoseVendorReadsAsOnesIsNotLost) {
  Serve(Pac(), {});
  const Device device = Scan()[2];
  Write("/sys/devices/pci0000:bd/0000:bd:00.0/0000:be:00.1/config",
        "\xff\xff\xff\xff\x06"
        "0000");
  EXPECT_EQ(Say(backend_->Check(device)), "good");
}

TEST_F(FpgaTest, AnUnpluggedCardHasVanishedAndReturns) {
  Serve(Pac(), {});
  const std::vector<Device> devices = Scan();
  node_->Unplug(0);
  EXPECT_EQ(Say(backend_->Check(devices[0])), "fatal vanished 0000:5e:00.0 is not on the PCI bus");
  events_.AwaitRescan();
  EXPECT_EQ(Scan().size(), 2U);
  node_->Return(0);
  events_.AwaitRescan();
  EXPECT_EQ(Scan(), devices);
}

TEST_F(FpgaTest, ACardWithoutItsDriverIsOut) {
  Serve(Alveo(), {.vendor = FpgaConfig::Vendor::kXilinx});
  const std::vector<Device> devices = Scan();
  node_->Unbind(0);
  EXPECT_EQ(Say(backend_->Check(devices[1])), "fatal vanished 0000:d8:00.1 has no driver");
  EXPECT_EQ(Say(backend_->Check(devices[0])), "good");
}

TEST_F(FpgaTest, ANodeThatIsGoneTakesItsDeviceOut) {
  Serve(Pac(), {});
  const std::vector<Device> devices = Scan();
  Remove("/dev/dfl-port.0");
  EXPECT_EQ(Say(backend_->Check(devices[0])), "fatal vanished /dev/dfl-port.0 is gone");
  EXPECT_EQ(Listed()[0],
            "a.com/fpga/0000:5e:00.0-0 /dev/dfl-port.0 is not there: see whether the "
            "device's driver is loaded");
  Write("/dev/dfl-port.0", "");
  events_.AwaitRescan();
  EXPECT_EQ(Scan(), devices);
}

TEST_F(FpgaTest, DriversThatNumberAnewAreSeenAndNoOtherCardAnswers) {
  Serve(Pac(), {});
  const std::vector<Device> devices = Scan();
  node_->Renumber(1);
  // The numbers 1 and 2 now belong to other ports.
  EXPECT_EQ(Say(backend_->Check(devices[1])).substr(0, 20), "fatal vanished /sys/");
  events_.AwaitRescan();
  const std::vector<Device> now = Scan();
  EXPECT_EQ(now[1].key, devices[1].key);
  EXPECT_EQ(now[1].nodes, (std::vector<DeviceNode>{{"/dev/dfl-port.2", "/dev/dfl-port.2", "rw"}}));
  EXPECT_EQ(Say(backend_->Check(now[1])), "good");
}

TEST_F(FpgaTest, APortThatIsProgrammedAnewIsScannedAgain) {
  Serve(Pac(), {});
  const std::vector<Device> devices = Scan();
  node_->SetAfu(0, 0, std::string(32, '1'));
  EXPECT_EQ(Say(backend_->Check(devices[0])),
            "fatal vanished " + std::string(kPort) + "/afu_id is another one: it was programmed");
  EXPECT_EQ(events_.rescans, 1);
}

TEST_F(FpgaTest, APortThatNoLongerAnswersIsLostAndReturns) {
  Serve(Pac(), {});
  std::vector<Device> devices = Scan();
  node_->SetAfu(0, 0, std::string(32, 'f'));
  EXPECT_EQ(Say(backend_->Check(devices[0])),
            "fatal device-lost " + std::string(kPort) +
                "/afu_id reads as ones: the card does not answer");
  EXPECT_EQ(events_.rescans, 1);
  devices = Scan();
  EXPECT_EQ(
      Say(backend_->Check(devices[0])),
      "fatal unreadable " + std::string(kPort) + "/afu_id reads as ones: the card does not answer");
  node_->SetAfu(0, 0, "d8424dc4a4a3c413f89e433683f9040b");
  events_.AwaitRescan();
  EXPECT_EQ(Say(backend_->Check(Scan()[0])), "good");
}

TEST_F(FpgaTest, AnIdThatIsReadInPartIsNoAnswer) {
  Serve(Pac(), {});
  const std::vector<Device> devices = Scan();
  Write(std::string(kPort) + "/afu_id", "");
  EXPECT_EQ(Say(backend_->Check(devices[0])),
            "unknown unreadable " + std::string(kPort) + "/afu_id is empty");
}

TEST_F(FpgaTest, AnErrorOfAPortIsBadUntilItIsCleared) {
  Serve(Pac(), {});
  const std::vector<Device> devices = Scan();
  node_->SetErrors(0, 0, 0x10);
  EXPECT_EQ(Say(backend_->Check(devices[0])),
            "bad check-failed " + std::string(kPort) +
                "/errors/errors has 0x10: clear it once the cause is known");
  EXPECT_EQ(Say(backend_->Check(devices[1])), "good");
  node_->SetErrors(0, 0, 0);
  EXPECT_EQ(Say(backend_->Check(devices[0])), "good");
  Write(std::string(kPort) + "/errors/errors", "\xff\n");
  EXPECT_EQ(Say(backend_->Check(devices[0])),
            "unknown unreadable " + std::string(kPort) + "/errors/errors has no number");
}

TEST_F(FpgaTest, ARegisterThatDoesNotAnswerCostsNoOtherCard) {
  Serve(Pac(), {});
  const std::vector<Device> devices = Scan();
  const std::string file = std::string(kPort) + "/errors/errors";
  Remove(file);
  ASSERT_EQ(mkfifo((directory_ + file).c_str(), 0644), 0);
  const os::Fd writer(open((directory_ + file).c_str(), O_RDWR | O_CLOEXEC));
  EXPECT_EQ(Say(backend_->Check(devices[0])).substr(0, 19), "unknown unreadable ");
  EXPECT_EQ(Say(backend_->Check(devices[1])), "good");
  EXPECT_EQ(Scan(), devices);
}

TEST_F(FpgaTest, ACardThatHasLoadedItsShellIsSeen) {
  Serve(Alveo(), {.vendor = FpgaConfig::Vendor::kXilinx});
  node_->Load(0);
  events_.AwaitRescan();
  EXPECT_EQ(Listed()[1],
            "a.com/fpga/0000:d8:00.1 0000:d8:00.1 is still loading: its shell has no "
            "name yet");
  node_->Loaded(0, "xilinx_u250_gen3x16_base_4");
  events_.AwaitRescan();
  const std::vector<Device> devices = Scan();
  EXPECT_EQ(devices[1].defect, std::nullopt);
  EXPECT_EQ(Say(backend_->Check(devices[1])), "good");
}

TEST_F(FpgaTest, ACardThatAScanMissedIsSeenThoughAllIsAsBefore) {
  Serve(Pac(), {});
  node_->Unplug(0);
  EXPECT_EQ(Scan().size(), 2U);
  node_->Return(0);
  events_.AwaitRescan();
  EXPECT_EQ(Scan().size(), 3U);
}

TEST_F(FpgaTest, ADriverThatIsGoneIsMissingUntilItReturns) {
  for (const bool intel : {true, false}) {
    node_.emplace(directory_, intel ? Pac() : Alveo());
    Serve({}, {.vendor = intel ? FpgaConfig::Vendor::kIntel : FpgaConfig::Vendor::kXilinx});
    const size_t count = Scan().size();
    node_->RemoveDriver();
    events_.AwaitRescan();
    EXPECT_EQ(backend_->Scan().error().reason, Reason::kDriverMissing);
    EXPECT_EQ(backend_->Scan().error().message,
              std::string("the node has an FPGA, and its driver is not loaded: ") +
                  (intel ? "dfl-pci, or OPAE's intel-fpga-pci" : "XRT's xocl"));
    node_->InstallDriver();
    events_.AwaitRescan();
    EXPECT_EQ(Scan().size(), count);
    node_->RemoveDriver();
    Remove("/sys");
    Remove("/dev");
  }
}

TEST_F(FpgaTest, ANodeWithoutACardHasNoDevices) {
  Serve({}, {});
  EXPECT_EQ(Scan(), std::vector<Device>());
  Serve({}, {.vendor = FpgaConfig::Vendor::kXilinx});
  EXPECT_EQ(Scan(), std::vector<Device>());
}

TEST_F(FpgaTest, ACardThatAnotherDriverHasIsNoneOfTheKind) {
  SimNode hardware = Pac();
  hardware.intel.resize(1);
  Serve(hardware, {});
  node_->Unbind(0);
  EXPECT_EQ(backend_->Scan().error().reason, Reason::kDriverMissing);
  ASSERT_TRUE(os::ReplaceLink(
      directory_ + "/sys/devices/pci0000:5d/0000:5d:00.0/0000:5e:00.0/driver", "../vfio-pci"));
  EXPECT_EQ(Scan(), std::vector<Device>());
}

TEST_F(FpgaTest, ARegionGetsIntelsHookAndAPortDoesNot) {
  Serve(Pac(), {.mode = FpgaConfig::Mode::kRegion});
  ASSERT_NE(backend_->preparer(), nullptr);
  const auto prepared = backend_->preparer()->Prepare(PrepareRequest());
  ASSERT_TRUE(prepared);
  Prepared expected;
  expected.edits.hooks = {{.name = "createRuntime",
                           .path = "/opt/intel/fpga-sw/intel-fpga-crihook",
                           .args = {"/opt/intel/fpga-sw/intel-fpga-crihook"}}};
  EXPECT_EQ(*prepared, expected);
  EXPECT_TRUE(backend_->preparer()->Unprepare(UnprepareRequest()));
  Serve({}, {});
  EXPECT_EQ(backend_->preparer(), nullptr);
}

}  // namespace
}  // namespace tessera::fpga
