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

const HardwareDevice kGpuA = {"0", "GPU-a", "Model 80GB", 81559};
const HardwareDevice kGpuB = {"1", "GPU-b", "Model 80GB", 81559};
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
    return *Hardware::Open(TESSERA_FAKE_NVML, Put("two.yaml", description));
  }
  std::unique_ptr<Hardware> Installed() {
    std::unique_ptr<Hardware> hardware = Open();
    EXPECT_TRUE(hardware->Install(node_));
    return hardware;
  }
  std::string Refusal(const std::string& library, const std::string& description) {
    const auto opened = Hardware::Open(library, description);
    return opened ? "it is good" : opened.error().message;
  }
  std::string FileOf(const std::string& path) { return os::ReadFile(node_ + path).value_or("-"); }

  const std::string directory_ = *os::MakeTemporaryDirectory("/tmp/hardware-");
  const std::string node_ = directory_ + "/node";
};

TEST_F(HardwareTest, DevicesAreThoseOfTheDescription) {
  const std::unique_ptr<Hardware> hardware = Open();
  EXPECT_EQ(hardware->devices(), (Devices{kGpuA, kGpuB, kMigA}));
  EXPECT_TRUE(hardware->has_mig());
  EXPECT_FALSE(os::Exists(node_));
}

TEST_F(HardwareTest, WholeGpusHaveNoMig) {
  EXPECT_FALSE((*Hardware::Open(TESSERA_FAKE_NVML, "demo/hardware/8xa100.yaml"))->has_mig());
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
  EXPECT_EQ(Refusal(TESSERA_FAKE_NVML, path),
            path + ": line 3: did not find expected node content");
}

TEST_F(HardwareTest, ADescriptionWithoutGpusIsRefused) {
  const std::string path = Put("none.yaml", "driver: x\n");
  EXPECT_EQ(Refusal(TESSERA_FAKE_NVML, path),
            path + " describes no GPU: it needs a list 'gpus' (docs/how-to/develop-a-plugin.md)");
}

TEST_F(HardwareTest, AnotherLibraryIsNotTakenForTheFakeNvml) {
  Dl_info libc{};
  ASSERT_NE(dladdr(reinterpret_cast<void*>(&gnu_get_libc_version), &libc), 0);
  EXPECT_EQ(Refusal(libc.dli_fname, Put("two.yaml", kTwo)),
            std::string(libc.dli_fname) +
                " is not the fake NVML of this version of Tessera: build it with tools/build "
                "release fake_nvml and name it with --nvml, or run tools/demo, which does both");
}

TEST_F(HardwareTest, AFileThatIsNoLibraryIsRefused) {
  const std::string path = Put("two.yaml", kTwo);
  EXPECT_TRUE(Refusal(path, path).starts_with("cannot load the fake NVML: " + path)) << path;
}

TEST_F(HardwareTest, TheLibraryIsLookedForBesideTheProgram) {
  EXPECT_EQ(Hardware::LibraryBeside("/opt/bin/tessera"), "/opt/bin/libnvidia-ml.so.1");
}

}  // namespace
}  // namespace tessera::demo
