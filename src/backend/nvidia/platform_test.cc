// SPDX-License-Identifier: Apache-2.0
#include "backend/nvidia/platform.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <mutex>
#include <thread>

#include "backend/nvidia/core/events.h"
#include "backend/nvidia/labels/pci_file.h"
#include "backend/nvidia/nvidia.h"
#include "backend/recorder_test.h"
#include "base/captured_log_test.h"
#include "base/log.h"
#include "nvml/nvidia_node.h"

namespace tessera::nvidia {
namespace {

using Ids = std::vector<std::string>;
using Discovery = NvidiaConfig::Discovery;

// The reports and counts of devices, from any thread.
class HeardBackend : public BackendEvents {
 public:
  void RescanSoon() override {}
  void Report(const DeviceKey& key, Evidence evidence) override {
    Add(fmt::format("{} {}", key.Text(), ReasonName(evidence.reason)));
  }
  void CountDriverError(const std::string& gpu, const std::string& xid) override {
    Add(gpu + " " + xid);
  }
  std::vector<std::string> all() {
    std::lock_guard lock(mutex_);
    return all_;
  }

 private:
  void Add(std::string text) {
    std::lock_guard lock(mutex_);
    all_.push_back(std::move(text));
  }
  std::mutex mutex_;
  std::vector<std::string> all_;  // under mutex_
};

class PlatformTest : public testing::Test {
 protected:
  void TearDown() override { EXPECT_TRUE(os::RemoveTree(directory_)); }

  // A backend for such a node, which becomes node_.
  std::shared_ptr<PlatformBackend> On(const std::string& hardware,
                                      const NvidiaConfig& config = {}) {
    node_.emplace(directory_, hardware);
    const os::Root root(directory_);
    return std::make_shared<PlatformBackend>(
        kResource, config, root, std::make_shared<NvidiaBackend>(kResource, config, root));
  }
  template <class F>
  static void Await(F done) {
    const Steady limit = SystemClock().Now() + Duration(20'000);
    while (!done() && SystemClock().Now() < limit) std::this_thread::yield();
  }
  static Ids ScannedIds(Backend& backend) {
    const auto devices = backend.Scan();
    EXPECT_TRUE(devices) << devices.error().message;
    Ids ids;
    for (const Device& device : devices.value_or(std::vector<Device>())) {
      ids.push_back(device.key.id);
    }
    return ids;
  }
  static Device One(const std::string& id, const std::string& model) {
    Device device;
    device.key = {kResource, id};
    device.visible_as = id;
    device.model = model;
    return device;
  }

  static constexpr char kResource[] = "nvidia.com/gpu";
  const std::string directory_ = os::MakeTemporaryDirectory("/tmp/platform_test").value();
  std::optional<NvidiaNode> node_;
};

TEST_F(PlatformTest, OnWslAllGpusAreOneDeviceThatIsGoodAsLongAsItsNodeIsThere) {
  const auto backend = On("wsl");

  const std::vector<Device> devices = backend->Scan().value();

  Device all = One("all", "NVIDIA GPUs of WSL");
  all.nodes = {{.host_path = "/dev/dxg", .container_path = "/dev/dxg"}};
  EXPECT_EQ(devices, std::vector<Device>{all});
  EXPECT_EQ(Say(backend->Check(all)), "good");
  ASSERT_TRUE(os::RemoveFile(directory_ + "/dev/dxg"));
  EXPECT_EQ(Say(backend->Check(all)), "fatal vanished /dev/dxg is not there");
}

TEST_F(PlatformTest, WslIsToldEvenWhereNvmlIsAskedFor) {
  EXPECT_EQ(ScannedIds(*On("wsl", {.discovery = Discovery::kNvml})), Ids{"all"});
}

TEST_F(PlatformTest, WslIsLookedForUntilNvmlHasAnswered) {
  const auto backend = On("8xa100");
  node_->RemoveDriver();
  EXPECT_EQ(backend->Scan().error().reason, Reason::kDriverMissing);
  node_->InstallDriver();
  EXPECT_EQ(ScannedIds(*backend).size(), 8U);

  const NvidiaNode wsl(directory_, "wsl");

  EXPECT_EQ(ScannedIds(*backend), Ids{wsl.hardware().gpus[0].uuid});
  EXPECT_EQ(ScannedIds(*On("wsl")), Ids{"all"});
}

TEST_F(PlatformTest, WslThatComesLateIsSeen) {
  const auto backend = On("8xa100");
  node_->RemoveDriver();
  EXPECT_EQ(backend->Scan().error().reason, Reason::kDriverMissing);

  const NvidiaNode wsl(directory_, "wsl");

  EXPECT_EQ(ScannedIds(*backend), Ids{"all"});
}

TEST_F(PlatformTest, AnIntegratedGpuMakesTheNodeOneDeviceThatFaresAsItsGpuDoes) {
  const auto backend = On("tegra");

  EXPECT_EQ(backend->Scan().value(), std::vector<Device>{One("tegra", "NVIDIA Tegra")});

  const Device tegra = One("tegra", "NVIDIA Tegra");
  EXPECT_EQ(Say(backend->Check(tegra)), "good");
  node_->SetFaults("gpus: {0: {lost: true}}");
  EXPECT_EQ(backend->Check(tegra).reason, Reason::kDeviceLost);
}

TEST_F(PlatformTest, ATegraIsOneWhateverElseNvmlCannotTellOfItsGpu) {
  const auto backend = On("tegra");
  node_->SetFaults("gpus: {0: {fail: {nvmlDeviceGetMigMode: 999}}}");

  EXPECT_EQ(ScannedIds(*backend), Ids{"tegra"});
  EXPECT_EQ(Say(backend->Check(One("tegra", "NVIDIA Tegra"))), "good");
}

TEST_F(PlatformTest, ATegraIsNotBadForEventsThatAreRefused) {
  const auto backend = On("tegra");
  node_->SetFaults("gpus: {0: {fail: {nvmlDeviceRegisterEvents: 999}}}");
  const auto watcher = EventWatcher::Of(nvml::Session::Of(os::Root(directory_), "/"));
  const std::string uuid = node_->hardware().gpus[0].uuid;
  HeardBackend events;
  ASSERT_TRUE(backend->Start(events));
  EXPECT_EQ(ScannedIds(*backend), Ids{"tegra"});
  Await([&] { return watcher->Refusal(uuid).has_value(); });
  EXPECT_EQ(watcher->Refusal(uuid), "nvmlDeviceRegisterEvents: Unknown Error (999)");
  EXPECT_EQ(Say(backend->Check(One("tegra", "NVIDIA Tegra"))), "good");
  backend->Stop();
}

TEST_F(PlatformTest, AnXidOfATegrasGpuIsOneOfItsDevice) {
  const auto backend = On("tegra");
  const auto watcher = EventWatcher::Of(nvml::Session::Of(os::Root(directory_), "/"));
  HeardBackend events;
  ASSERT_TRUE(backend->Start(events));
  EXPECT_EQ(ScannedIds(*backend), Ids{"tegra"});
  Await([&] { return watcher->watched() == 1; });

  node_->SetFaults("events: [{gpu: 0, xid: 79}]");

  Await([&] { return events.all().size() == 2; });
  backend->Stop();
  EXPECT_EQ(events.all(),
            (Ids{node_->hardware().gpus[0].uuid + " 79", "nvidia.com/gpu/tegra xid"}));
}

// A GPU in a slot, besides the one in the processor.
constexpr char kMixed[] =
    "driver: \"540.4.0\"\n"
    "platform: tegra\n"
    "defaults: {memory: 30697, compute: \"8.7\"}\n"
    "gpus:\n"
    "- {model: Orin (nvgpu)}\n"
    "- {model: NVIDIA RTX A6000, pci: \"0005:03:00.0\"}\n";

TEST_F(PlatformTest, AGpuInASlotOfATegraIsPartOfItsDevice) {
  const auto backend = On("tegra");
  node_->SetHardware(kMixed);

  EXPECT_EQ(ScannedIds(*backend), Ids{"tegra"});
  const Device tegra = One("tegra", "NVIDIA Tegra");
  EXPECT_EQ(Say(backend->Check(tegra)), "good");
  node_->SetFaults("gpus: {1: {lost: true}}");
  EXPECT_EQ(backend->Check(tegra).reason, Reason::kDeviceLost);
}

TEST_F(PlatformTest, AGpuInASlotOfATegraIsServedAloneToAResourceThatSelectsIt) {
  const auto backend = On("tegra", {.select = {{.model = "*A6000"}}});
  node_->SetHardware(kMixed);

  const std::vector<Device> devices = backend->Scan().value();
  ASSERT_EQ(devices.size(), 1U);
  EXPECT_EQ(devices[0].key.id, node_->hardware().gpus[1].uuid);
  EXPECT_EQ(devices[0].nodes.back().container_path, "/dev/nvidia1");
  EXPECT_EQ(Say(backend->Check(devices[0])), "good");
}

TEST_F(PlatformTest, WhileTheDriverIsReplacedDocumentsNameItsFormerFiles) {
  const auto backend = On("1xt4", {.cdi_vendor = "ab.com", .cdi_hook_path = "/h"});
  const std::string library = directory_ + "/usr/lib64/libcuda.so.570.1";
  const auto mounts = [&] { return backend->DescribeForCdi({})->common.mounts; };
  EXPECT_EQ(mounts(), std::vector<cdi::Mount>{});
  ASSERT_TRUE(os::WriteFileAtomically(library, ""));
  ASSERT_EQ(mounts().size(), 1U);
  ASSERT_TRUE(os::RemoveFile(library));
  ASSERT_EQ(mounts().size(), 1U);
  ASSERT_TRUE(os::WriteFileAtomically(directory_ + "/usr/lib64/libcuda.so.580.1", ""));
  ASSERT_EQ(mounts().size(), 1U);
  EXPECT_EQ(mounts()[0].host_path, "/usr/lib64/libcuda.so.580.1");
}

TEST_F(PlatformTest, WithoutADocumentOfOursThereIsNothingToDescribe) {
  EXPECT_EQ(On("1xt4")->DescribeForCdi({}), nullptr);
}

TEST_F(PlatformTest, ATegraWithoutNvmlIsToldByItsFiles) {
  const auto backend = On("tegra");
  node_->RemoveDriver();
  EXPECT_EQ(ScannedIds(*backend), Ids{"tegra"});
  const Device tegra = One("tegra", "NVIDIA Tegra");
  EXPECT_EQ(Say(backend->Check(tegra)), "good");

  ASSERT_TRUE(os::RemoveFile(directory_ + "/etc/nv_tegra_release"));
  EXPECT_EQ(Say(backend->Check(tegra)), "good");  // by its family

  ASSERT_TRUE(os::RemoveFile(directory_ + "/sys/devices/soc0/family"));
  EXPECT_EQ(Say(backend->Check(tegra)),
            "fatal vanished neither /etc/nv_tegra_release nor /sys/devices/soc0/family identifies "
            "a Tegra");
  EXPECT_EQ(backend->Scan().error().reason, Reason::kDriverMissing);
}

TEST_F(PlatformTest, ANodeWithoutAGpuOnItsBusNeedsNoDriver) {
  CapturedLog log;
  const auto backend = On("8xa100");
  node_->RemoveDriver();
  EXPECT_EQ(backend->Scan().error().reason, Reason::kDriverMissing) << "the bus has GPUs";

  for (const std::string& address : NvidiaAddresses(os::Root(directory_))) {
    ASSERT_TRUE(os::RemoveTree(directory_ + "/sys/bus/pci/devices/" + address));
  }
  EXPECT_EQ(ScannedIds(*backend), Ids());
  EXPECT_EQ(ScannedIds(*backend), Ids());
  EXPECT_EQ(log.text(), "INFO the node has no NVIDIA GPU resource=nvidia.com/gpu\n");

  ASSERT_TRUE(os::RemoveTree(directory_ + "/sys/bus/pci"));
  EXPECT_EQ(backend->Scan().error().reason, Reason::kDriverMissing) << "the bus is not known";
}

TEST_F(PlatformTest, ATegraWhoseNvmlDoesNotStartIsNoneWithoutIt) {
  const auto backend = On("tegra");
  node_->SetFaults("driver: {fail: {nvmlInit_v2: 9}}");
  EXPECT_EQ(backend->Scan().error().reason, Reason::kDriverMissing);

  node_->SetFaults("");
  EXPECT_EQ(ScannedIds(*backend), Ids{"tegra"});
}

TEST_F(PlatformTest, ByIndexATegraIsNumberZeroAndWslAllTheSame) {
  const auto name = [&](const std::string& node) {
    const auto backend = On(node, {.id_strategy = IdStrategy::kIndex});
    return backend->Scan().value().at(0).visible_as;
  };
  EXPECT_EQ(name("tegra"), "0");
  EXPECT_EQ(name("wsl"), "all");
}

TEST_F(PlatformTest, ADriverThatIsLostLeavesTheNodeWhatItWas) {
  const auto backend = On("tegra");
  ASSERT_TRUE(backend->Scan());

  node_->SetFaults("driver: {fail: {all: 9}}");

  EXPECT_EQ(backend->Check(One("tegra", "NVIDIA Tegra")).reason, Reason::kDriverMissing);
  EXPECT_EQ(backend->Scan().error().reason, Reason::kDriverMissing);
  EXPECT_EQ(Say(backend->Check(One("tegra", "NVIDIA Tegra"))),
            "unknown driver-missing NVML is not open");
}

TEST_F(PlatformTest, AnImexChannelIsHandedOutAsElsewhere) {
  const std::string channel = directory_ + kImexChannel;
  ASSERT_TRUE(os::MakeDirectories(channel.substr(0, channel.rfind('/'))));
  for (const char* node : {"wsl", "tegra"}) {
    const auto backend = On(node, {.imex = Imex::kRequired});
    const Device without = backend->Scan().value().at(0);
    EXPECT_EQ(Say(backend->Check(without)),
              "bad unreadable /dev/nvidia-caps-imex-channels/channel0 is required and does not "
              "exist: start nvidia-imex, or make the channel");

    ASSERT_EQ(symlink("/dev/null", channel.c_str()), 0);  // a character device
    const Device with = backend->Scan().value().at(0);
    ASSERT_FALSE(with.nodes.empty());
    EXPECT_EQ(with.nodes.back(),
              (DeviceNode{.host_path = kImexChannel, .container_path = kImexChannel}));
    EXPECT_EQ(Say(backend->Check(with)), "good");
    ASSERT_TRUE(os::RemoveFile(channel));
  }
}

TEST_F(PlatformTest, ThatTheImexChannelIsMissingIsToldOnceOnEveryKindOfNode) {
  const auto told = [&](const char* node, Imex imex) {
    std::string lines;
    log::SetSink([&](std::string_view line) {
      if (line.find("IMEX") != std::string_view::npos) lines += fmt::format("{}\n", line);
    });
    const auto backend = On(node, {.imex = imex});
    EXPECT_TRUE(backend->Scan());
    EXPECT_TRUE(backend->Scan());
    log::SetSink(nullptr);
    return lines.substr(std::min(lines.find("WARN"), lines.size()));
  };
  const std::string where =
      "resource=nvidia.com/gpu channel=/dev/nvidia-caps-imex-channels/channel0 ";
  const std::string whole =
      "advice=\"WSL and Tegra usually have no nvidia-imex: remove 'imex' for such nodes, or make "
      "the channel\"\n";
  EXPECT_EQ(told("1xt4", Imex::kOptional),
            "WARN the IMEX channel is missing; containers start without it " + where +
                "advice=\"start nvidia-imex, or make the channel\"\n");
  EXPECT_EQ(told("wsl", Imex::kOptional),
            "WARN the IMEX channel is missing; containers start without it " + where + whole);
  EXPECT_EQ(told("tegra", Imex::kRequired),
            "WARN the IMEX channel is missing, so every GPU is unhealthy " + where + whole);
  EXPECT_EQ(told("tegra", Imex::kNone), "");
}

TEST_F(PlatformTest, NvmlIsTakenAtItsWordWhereItIsAskedFor) {
  const auto backend = On("tegra", {.discovery = Discovery::kNvml});

  const Device gpu = backend->Scan().value().at(0);
  EXPECT_EQ(gpu.key.id, node_->hardware().gpus[0].uuid);
  EXPECT_EQ(gpu.nodes.back().container_path, "/dev/nvidia-uvm-tools");  // it has none of its own
  EXPECT_EQ(Say(backend->Check(gpu)), "good");
}

TEST_F(PlatformTest, GpusThatAreNoPartOfTheProcessorAreToldApartWhateverFilesThereAre) {
  const auto backend = On("8xa100");
  ASSERT_TRUE(os::MakeDirectories(directory_ + "/etc"));
  ASSERT_TRUE(os::ReplaceFile(directory_ + "/etc/nv_tegra_release", "# R36\n"));

  EXPECT_EQ(ScannedIds(*backend).size(), 8U);
  EXPECT_EQ(ScannedIds(*On("8xa100", {.discovery = Discovery::kTegra})), Ids{"tegra"});
}

TEST_F(PlatformTest, ATegraThatIsConfiguredIsServedThoughNoFileTellsOfIt) {
  const auto backend = On("8xa100", {.discovery = Discovery::kTegra});
  CapturedLog told;

  const std::vector<Device> devices = backend->Scan().value();

  EXPECT_EQ(devices, std::vector<Device>{One("tegra", "NVIDIA Tegra")});
  EXPECT_EQ(Say(backend->Check(devices.front())), "good");
  EXPECT_EQ(told.Take(),
            "WARN no file identifies a Tegra; its device is served because the configuration says "
            "so resource=nvidia.com/gpu looked=\"/etc/nv_tegra_release, /sys/devices/soc0/family\" "
            "driver=/\n"
            "INFO all GPUs are one device, as on every such node resource=nvidia.com/gpu "
            "node=Tegra device=tegra\n");
  ASSERT_TRUE(backend->Scan());
  EXPECT_EQ(told.Take(), "");
}

TEST_F(PlatformTest, VirtualGpusOfATegraNeedAMemoryThatIsConfigured) {
  const auto untold = On("tegra", {.vgpu = {.on = true}})->Scan().value();
  ASSERT_EQ(untold.size(), 1U);
  ASSERT_TRUE(untold[0].defect);
  EXPECT_EQ(untold[0].defect->reason, Reason::kUnreadable);

  const auto told = On("tegra", {.memory_if_untold = 8192, .vgpu = {.on = true}})->Scan().value();
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].defect, std::nullopt);
  EXPECT_EQ(told[0].memory, 8192);
}

TEST_F(PlatformTest, AFamilyOfTegraIsOneInAnyCase) {
  const auto family = [&](const char* text) {
    EXPECT_TRUE(os::MakeDirectories(directory_ + "/sys/devices/soc0"));
    EXPECT_TRUE(os::ReplaceFile(directory_ + "/sys/devices/soc0/family", text));
    return HasTegraFiles(os::Root(directory_), "/");
  };

  EXPECT_TRUE(family("TEGRA234\n"));
  EXPECT_FALSE(family("Freescale i.MX\n"));
  EXPECT_FALSE(family("Teg"));
}

TEST_F(PlatformTest, ResourcesOfMigDevicesAndLaterOnesHaveNothingOfIt) {
  EXPECT_EQ(ScannedIds(*On("wsl", {.mig = "*"})), Ids());
  EXPECT_EQ(ScannedIds(*On("wsl", {.earlier = {{}}})), Ids());
}

TEST_F(PlatformTest, ADriverThatIsLetGoOfTakesItsTegraAlong) {
  const auto backend = On("tegra");
  ASSERT_TRUE(backend->Scan());

  EXPECT_TRUE(backend->Release());
  EXPECT_EQ(backend->Scan().error().reason, Reason::kReleased);

  backend->TakeUp();
  EXPECT_EQ(ScannedIds(*backend), Ids{"tegra"});
}

}  // namespace
}  // namespace tessera::nvidia
