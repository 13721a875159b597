// SPDX-License-Identifier: Apache-2.0
#include "sim/demo/hardware.h"

#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <gtest/gtest.h>

#include "os/files.h"

namespace tessera::demo {
namespace {

constexpr char kTwo[] = R"(driver: "570"
defaults: {model: Model 80GB, memory: 81559, compute: "9.0"}
gpus:
- {uuid: GPU-a, pci: "0000:01:00.0"}
- {uuid: GPU-b, pci: "0000:02:00.0", mig: [{profile: 1g.10gb, gi: 7, memory: 9984, uuid: MIG-a}]}
)";
using Devices = std::vector<HardwareDevice>;
using Change = ChangeHardware::What;
const HardwareLibraries kLibraries = {.nvml = TESSERA_FAKE_NVML, .node = TESSERA_FAKE_NODE};
constexpr char kAmd[] = "demo/hardware/8xmi300x.yaml";
constexpr char kAscend[] = "demo/hardware/8xascend910b.yaml";
constexpr char kGpusAndNics[] = "demo/hardware/8gpus8nics.yaml";
constexpr char kGfx[] = "/sys/bus/pci/devices/0000:05:00.0/ras/gfx_err_count";

const HardwareDevice kGpuA = {"0", "GPU-a", "Model 80GB", 81559};
const HardwareDevice kGpuB = {"1", "GPU-b", "Model 80GB", 81559};
const HardwareDevice kMi300x = {"0", "0000:05:00.0", "AMD Instinct MI300X OAM", 196592};
const HardwareDevice kChip2 = {"2", "42C711D4-20B03704-4A10C8D4-14CC040A-D2102002", "Ascend910B3",
                               65536};
const HardwareDevice kCard2 = {"2", "0000:35:00.0", "network card 15b3:1021"};
const HardwareDevice kMigA = {"1:0", "MIG-a", "1g.10gb"};

class HardwareTest : public ::testing::Test {
 protected:
  ~HardwareTest() override { EXPECT_TRUE(os::RemoveTree(directory_)); }

  std::string Put(const std::string& name, const std::string& content) {
    const std::string path = directory_ + "/" + name;
    EXPECT_TRUE(os::WriteFileAtomically(path, content));
    return path;
  }
  std::unique_ptr<Hardware> Open(const std::string& description = kTwo) {
    return *Hardware::Open(kLibraries, Put("two.yaml", description));
  }
  std::unique_ptr<Hardware> Installed() {
    std::unique_ptr<Hardware> hardware = Open();
    EXPECT_TRUE(hardware->Install(node_));
    return hardware;
  }
  std::unique_ptr<Hardware> InstalledAmd() { return InstalledFrom(kAmd); }
  std::unique_ptr<Hardware> InstalledFrom(const std::string& description) {
    std::unique_ptr<Hardware> hardware = *Hardware::Open(kLibraries, description);
    EXPECT_TRUE(hardware->Install(node_));
    return hardware;
  }
  static std::string Refusal(const HardwareLibraries& libraries, const std::string& description) {
    const auto opened = Hardware::Open(libraries, description);
    return opened ? "it is good" : opened.error().message;
  }
  std::string FileOf(const std::string& path) { return os::ReadFile(node_ + path).value_or("-"); }

  const std::string directory_ = *os::MakeTemporaryDirectory("/tmp/hardware-");
  const std::string node_ = directory_ + "/node";
};

TEST_F(HardwareTest, DevicesAreThoseOfTheDescription) {
  const std::unique_ptr<Hardware> hardware = Open();
  EXPECT_EQ(hardware->devices(), (Devices{kGpuA, kGpuB, kMigA}));
  EXPECT_EQ(hardware->kinds(), std::set<std::string>{"nvidia"});
  EXPECT_TRUE(hardware->has_parts());
  EXPECT_FALSE(os::Exists(node_));
}

TEST_F(HardwareTest, WholeGpusHaveNoParts) {
  EXPECT_FALSE((*Hardware::Open(kLibraries, "demo/hardware/8xa100.yaml"))->has_parts());
}

TEST_F(HardwareTest, InstallingMakesTheFilesOfTheNode) {
  Installed();
  EXPECT_EQ(FileOf("/usr/lib64/libnvidia-ml.so.1"), *os::ReadFile(TESSERA_FAKE_NVML));
  EXPECT_EQ(FileOf("/usr/lib64/fake-nvml.yaml"), kTwo);
  EXPECT_EQ(FileOf("/dev/nvidia1"), "");
  EXPECT_EQ(FileOf("/sys/bus/pci/devices/0000:02:00.0/numa_node"), "-1\n");
  EXPECT_EQ(FileOf("/proc/driver/nvidia-caps/mig-minors"),
            "config 1\nmonitor 2\ngpu1/gi7/access 3\ngpu1/gi7/ci0/access 4\n");
}

TEST_F(HardwareTest, FaultsAreAboutTheDevicesOfTheirGpus) {
  const std::unique_ptr<Hardware> hardware = Installed();
  const ChangeHardware xid{Change::kFaults, "events: [{gpu: 1, xid: 79}]"};
  EXPECT_EQ(*hardware->Ask(xid), (Devices{kGpuB, kMigA}));
  EXPECT_EQ(FileOf("/usr/lib64/fake-nvml.yaml.faults"), "-");

  EXPECT_TRUE(hardware->Make(xid));
  EXPECT_EQ(FileOf("/usr/lib64/fake-nvml.yaml.faults"), xid.yaml);
}

TEST_F(HardwareTest, FaultsOfTheDriverAreAboutAllDevices) {
  const ChangeHardware lost{Change::kFaults, "driver: {fail: {all: 9}}"};
  EXPECT_EQ(*Installed()->Ask(lost), (Devices{kGpuA, kGpuB, kMigA}));
}

TEST_F(HardwareTest, ADivisionIsAboutTheDevicesThatComeAndGo) {
  const std::unique_ptr<Hardware> hardware = Installed();
  const ChangeHardware change{Change::kMig,
                              "1: [{profile: 2g.20gb, gi: 3, memory: 20096, uuid: MIG-b}]"};
  const Devices touched = {kGpuB, {"1:0", "MIG-b", "2g.20gb"}, {"1:-", "MIG-a", "1g.10gb"}};
  EXPECT_EQ(*hardware->Ask(change), touched);
  EXPECT_EQ(FileOf("/usr/lib64/fake-nvml.yaml"), kTwo);

  EXPECT_TRUE(hardware->Make(change));
  EXPECT_EQ(FileOf("/proc/driver/nvidia-caps/mig-minors"),
            "config 1\nmonitor 2\ngpu1/gi3/access 3\ngpu1/gi3/ci0/access 4\n");
}

TEST_F(HardwareTest, AChangeOfAGpuThatIsNotThereIsRefused) {
  const std::unique_ptr<Hardware> hardware = Installed();
  const Error error{Reason::kInvalid, "the scenario: there is no GPU 9"};
  EXPECT_EQ(hardware->Ask({Change::kFaults, "gpus: {9: {lost: true}}"}).error(), error);
  EXPECT_EQ(hardware->Ask({Change::kMig, "9: []"}).error(), error);
}

TEST_F(HardwareTest, AnErrorInTheDescriptionHasItsPlace) {
  const std::string path = Put("bad.yaml", "driver: x\ngpus:\n- {pci: [}\n");
  EXPECT_EQ(Refusal(kLibraries, path), path + ": line 3: did not find expected node content");
}

TEST_F(HardwareTest, ADescriptionWithoutGpusIsRefused) {
  const std::string path = Put("none.yaml", "driver: x\n");
  EXPECT_EQ(Refusal(kLibraries, path),
            path + " describes no GPU: it needs a list 'gpus' (docs/how-to/develop-a-plugin.md)");
}

TEST_F(HardwareTest, AnotherLibraryIsNotTakenForTheFakeNvml) {
  Dl_info libc{};
  ASSERT_NE(dladdr(reinterpret_cast<void*>(&gnu_get_libc_version), &libc), 0);
  EXPECT_EQ(Refusal({.nvml = libc.dli_fname}, Put("two.yaml", kTwo)),
            std::string(libc.dli_fname) +
                " is not the fake NVML of this version of Tessera: build it with tools/build "
                "release fake_nvml and name it with --nvml, or run tools/demo, which does both");
}

TEST_F(HardwareTest, AFileThatIsNoLibraryIsRefused) {
  const std::string path = Put("two.yaml", kTwo);
  EXPECT_TRUE(Refusal({.nvml = path}, path).starts_with("cannot load the fake NVML: " + path))
      << path;
}

TEST_F(HardwareTest, TheLibrariesAreLookedForBesideTheProgram) {
  const HardwareLibraries libraries = Hardware::LibrariesBeside("/opt/bin/tessera");
  EXPECT_EQ(libraries.nvml, "/opt/bin/libnvidia-ml.so.1");
  EXPECT_EQ(libraries.node, "/opt/bin/libfake-node.so");
}

TEST_F(HardwareTest, ANodeWithAmdGpusNeedsNoFakeNvml) {
  const std::unique_ptr<Hardware> hardware = InstalledAmd();
  EXPECT_EQ(hardware->kinds(), std::set<std::string>{"amd"});
  EXPECT_FALSE(hardware->has_parts());
  ASSERT_EQ(hardware->devices().size(), 8U);
  EXPECT_EQ(hardware->devices()[0], kMi300x);
  EXPECT_EQ(FileOf("/sys/bus/pci/drivers/amdgpu/0000:05:00.0/current_compute_partition"), "SPX\n");
  EXPECT_FALSE(os::Exists(node_ + "/usr"));
}

TEST_F(HardwareTest, PartitionsAreThoseOfTheirGpu) {
  const auto hardware = *Hardware::Open(kLibraries, "demo/hardware/8xmi300x-cpx.yaml");
  EXPECT_TRUE(hardware->has_parts());
  ASSERT_EQ(hardware->devices().size(), 8U + 63);
  EXPECT_EQ(hardware->devices()[0], kMi300x);
  EXPECT_EQ(hardware->devices()[4], (HardwareDevice{"0:3", "0000:05:00.0-3", "cpx_nps1"}));
}

TEST_F(HardwareTest, AmdGpusChangeOneAfterTheOther) {
  const std::unique_ptr<Hardware> hardware = InstalledAmd();
  const ChangeHardware error{Change::kFaults, "ras 0 gfx 1 0"};
  EXPECT_EQ(*hardware->Ask(error), Devices{kMi300x});
  EXPECT_EQ(FileOf(kGfx), "ue: 0\nce: 0\nde: 0\n");

  EXPECT_TRUE(hardware->Make(error));
  EXPECT_TRUE(hardware->Make({Change::kFaults, "lose 1\nlose 2\n"}));
  EXPECT_EQ(FileOf(kGfx), "ue: 1\nce: 0\nde: 0\n");
  EXPECT_FALSE(os::Exists(node_ + "/sys/bus/pci/drivers/amdgpu/0000:27:00.0"));
}

TEST_F(HardwareTest, ADivisionIsAboutTheAmdGpuAndItsPartitions) {
  const Devices touched = *InstalledAmd()->Ask({Change::kFaults, "compute 0 DPX"});
  EXPECT_EQ(touched, (Devices{kMi300x,
                              {"0:0", "0000:05:00.0-0", "dpx_nps1"},
                              {"0:1", "0000:05:00.0-1", "dpx_nps1"}}));
}

TEST_F(HardwareTest, AChangeThatAmdGpusCannotMakeIsRefused) {
  const std::unique_ptr<Hardware> hardware = InstalledAmd();
  const auto refusal = [&](Change what, const std::string& text) {
    return hardware->Ask({what, text}).error().message;
  };
  EXPECT_EQ(refusal(Change::kFaults, "lose 9"), "the scenario: there is no GPU 9");
  EXPECT_EQ(refusal(Change::kFaults, "break 1"), "the scenario: there is no change 'break'");
  EXPECT_EQ(refusal(Change::kFaults, ""), "the scenario: a change is missing, such as 'lose 3'");
  EXPECT_EQ(refusal(Change::kMig, "0: []"),
            "the scenario: only NVIDIA GPUs have MIG devices; AMD GPUs are divided by hardware: "
            "compute 0 CPX");
}

TEST_F(HardwareTest, AnErrorInADescriptionOfAmdGpusIsNamed) {
  const std::string more = Put("more.yaml", "amd: mi300x\ngpus: []\n");
  EXPECT_EQ(Refusal(kLibraries, more), more + ": line 2: a node of files has no key \"gpus\"");
  const std::string unknown = Put("unknown.yaml", "# one\namd: mi999\n");
  EXPECT_EQ(Refusal(kLibraries, unknown),
            unknown +
                ": there is no node mi999; there are mi300x, mi300x-cpx, mi300x-switches, "
                "mi300x-vm, mi210, mi308x-cpx, mi300a, vega and apu");
}

TEST_F(HardwareTest, ANodeWithNpusHasTheirDriversLibrary) {
  const std::unique_ptr<Hardware> hardware = InstalledFrom(kAscend);
  EXPECT_EQ(hardware->kinds(), std::set<std::string>{"ascend"});
  ASSERT_EQ(hardware->devices().size(), 8U);
  EXPECT_EQ(hardware->devices()[2], kChip2);
  EXPECT_EQ(FileOf("/dev/davinci2"), "");
  EXPECT_TRUE(os::Exists(node_ + "/usr/local/dcmi/libdcmi.so"));
}

TEST_F(HardwareTest, ChangesOfNpusAreAboutTheOnesThatTheyName) {
  const std::unique_ptr<Hardware> hardware = InstalledFrom(kAscend);
  const ChangeHardware gone{Change::kFaults, "health 2 3 0x80E01801\nunplug 2"};
  EXPECT_EQ(*hardware->Ask(gone), Devices{kChip2});
  EXPECT_EQ(FileOf("/dev/davinci2"), "");

  EXPECT_TRUE(hardware->Make(gone));
  EXPECT_EQ(FileOf("/dev/davinci2"), "-");
  EXPECT_EQ(hardware->Ask({Change::kFaults, "mend"})->size(), 8U);
  EXPECT_EQ(hardware->Ask({Change::kFaults, "unplug 9"}).error().message,
            "the scenario: there is no chip 9");
}

TEST_F(HardwareTest, SeveralSimulatorsMakeOneNode) {
  const std::unique_ptr<Hardware> hardware = InstalledFrom(kGpusAndNics);
  EXPECT_EQ(hardware->kinds(), (std::set<std::string>{"amd", "rdma"}));
  EXPECT_FALSE(hardware->has_parts());
  ASSERT_EQ(hardware->devices().size(), 16U);
  EXPECT_EQ(hardware->devices()[2].id, "0000:33:00.0");
  EXPECT_EQ(hardware->devices()[10], kCard2);
  EXPECT_EQ(FileOf("/sys/bus/pci/devices/0000:33:00.0/vendor"), "0x1002\n");
  EXPECT_EQ(FileOf("/sys/bus/pci/devices/0000:35:00.0/vendor"), "0x15b3\n");
}

TEST_F(HardwareTest, EachChangeOfSeveralSimulatorsNamesItsOwn) {
  const std::unique_ptr<Hardware> hardware = InstalledFrom(kGpusAndNics);
  const ChangeHardware change{Change::kFaults, "rdma cable 0000:35:00.0 off\namd lose 2\n"};
  const Devices touched = *hardware->Ask(change);
  ASSERT_EQ(touched.size(), 2U);
  EXPECT_EQ(touched[0].id, "0000:33:00.0");
  EXPECT_EQ(touched[1], kCard2);

  EXPECT_TRUE(hardware->Make(change));
  EXPECT_EQ(FileOf("/sys/class/net/ibp53s0/carrier"), "0\n");
  EXPECT_FALSE(os::Exists(node_ + "/sys/bus/pci/drivers/amdgpu/0000:33:00.0"));
  EXPECT_EQ(hardware->Ask({Change::kFaults, "lose 2"}).error().message,
            "the scenario: 'lose' is not amd or rdma, with which a change begins");
}

TEST_F(HardwareTest, VirtualFunctionsAreThoseOfTheirCard) {
  const std::unique_ptr<Hardware> hardware = InstalledFrom(Put("two.yaml", "rdma: two\n"));
  EXPECT_TRUE(hardware->has_parts());
  const HardwareDevice card = {"1", "0000:af:00.0", "network card 15b3:101b"};
  const HardwareDevice first = {"1:0", "0000:af:00.1", "virtual function"};
  const HardwareDevice second = {"1:1", "0000:af:00.2", "virtual function"};
  EXPECT_EQ(hardware->Ask({Change::kFaults, "vfs 0000:af:00.0 1"})->size(), 5U);
  ASSERT_TRUE(hardware->Make({Change::kFaults, "vfs 0000:af:00.0 1"}));
  EXPECT_EQ(*hardware->Ask({Change::kFaults, "vfs 0000:af:00.0 2"}),
            (Devices{card, first, second}));
  EXPECT_EQ(hardware->Ask({Change::kFaults, "unload"})->size(), 3U);
}

TEST_F(HardwareTest, WithoutTheLibraryOfNodesAMessageSaysWhereItComesFrom) {
  EXPECT_EQ(Refusal({.nvml = TESSERA_FAKE_NVML, .node = "./none.so"}, kAmd),
            "there is no ./none.so, the library of simulated nodes that --hardware needs: build it "
            "with tools/build release fake_node, or run tools/demo, which does so");
}

}  // namespace
}  // namespace tessera::demo
