// SPDX-License-Identifier: Apache-2.0
#include "backend/nvidia/labels/vfio.h"

#include <gtest/gtest.h>

#include "backend/nvidia/core/nvidia_config.h"

namespace tessera::nvidia {
namespace {

constexpr char kDatabase[] = R"(# a comment
10dd  Another vendor
	2331  Not ours
10de  NVIDIA Corporation
	1eb8  TU104GL [Tesla T4]
		10de 12a2  A subsystem
	2331  GH100 [H100 PCIe]
10df  A third
	2335  Not ours either
)";
// 16 MiB, 128 GiB and 32 MiB, each of 64-bit addresses; then a ROM of none.
constexpr char kWindowsOfH100[] = R"(0x0000000042000000 0x0000000042ffffff 0x0000000000140204
0x0000000000000000 0x0000000000000000 0x0000000000000000
0x0000382000000000 0x0000383fffffffff 0x000000000014220c
0x0000000000000000 0x0000000000000000 0x0000000000000000
0x0000384000000000 0x0000384001ffffff 0x000000000014220c
0x0000000000000000 0x0000000000000000 0x0000000000000000
0x0000000000000000 0x000000ffffffffff 0x0000000000146200
)";

class VfioTest : public testing::Test {
 protected:
  VfioTest() {
    config_.root_prefix = directory_;
    config_.labels.timestamp = false;
  }
  ~VfioTest() override { EXPECT_TRUE(os::RemoveTree(directory_)); }

  void Write(const std::string& path, const std::string& text) {
    const std::string file = directory_ + path;
    ASSERT_TRUE(os::MakeDirectories(file.substr(0, file.rfind('/'))));
    ASSERT_TRUE(os::ReplaceFile(file, text));
  }
  // A device of NVIDIA's, as sysfs has it.
  void Plug(const std::string& address, const std::string& device, const std::string& driver,
            const std::string& pci_class = "0x030200") {
    const std::string at = "/sys/bus/pci/devices/" + address;
    Write(at + "/vendor", "0x10de\n");
    Write(at + "/device", "0x" + device + "\n");
    Write(at + "/class", pci_class + "\n");
    Write(at + "/config", std::string(256, '\0'));
    Write(at + "/resource", kWindowsOfH100);
    ASSERT_TRUE(
        os::ReplaceLink(directory_ + at + "/driver", "../../../../bus/pci/drivers/" + driver));
  }
  std::string Read() {
    std::string text;
    const Result<Labels> labels = VfioLabeller(config_).Read();
    if (!labels) return labels.error().Text();
    for (const auto& [key, value] : *labels) text += key.substr(11) + "=" + value + "\n";
    return text;
  }
  std::vector<std::string> Models() {
    std::vector<std::string> models;
    for (const GpuFacts& gpu : ReadPassedThrough(os::Root(directory_), "/driver-root")) {
      models.push_back(gpu.model);
    }
    return models;
  }

  const std::string directory_ = os::MakeTemporaryDirectory("/tmp/vfio_test").value();
  config::Config config_;
};

TEST_F(VfioTest, AllThatIsKnownOfThemIsTold) {
  Plug("0000:01:00.0", "2331", "vfio-pci");
  Plug("0000:02:00.0", "2331", "vfio-pci");
  Write("/usr/share/hwdata/pci.ids", kDatabase);
  Write("/sys/class/dmi/id/product_name", "R760xa\n");

  EXPECT_EQ(Read(), R"(cuda.driver-version.full=unknown.unknown.unknown
cuda.driver-version.major=unknown
cuda.driver-version.minor=unknown
cuda.driver-version.revision=unknown
cuda.driver.major=unknown
cuda.driver.minor=unknown
cuda.driver.rev=unknown
gpu.count=2
gpu.family=undefined
gpu.machine=R760xa
gpu.memory=131072
gpu.mode=compute
gpu.product=GH100-H100-PCIe
gpu.replicas=1
gpu.sharing-strategy=none
mig.capable=false
mps.capable=false
vgpu.present=false
)");
}

TEST_F(VfioTest, WhatAnotherDriverHasOrIsNoWholeGpuIsNotTold) {
  Plug("0000:01:00.0", "2331", "nvidia");
  Plug("0000:01:00.1", "10f0", "vfio-pci", "0x040300");  // what makes its sound
  Plug("0000:02:00.0", "2331", "vfio-pci");
  ASSERT_TRUE(os::ReplaceLink(directory_ + "/sys/bus/pci/devices/0000:02:00.0/physfn", "../x"));
  Plug("0000:03:00.0", "2331", "vfio-pci");
  Write("/sys/bus/pci/devices/0000:03:00.0/vendor", "0x1002\n");

  EXPECT_EQ(Models(), std::vector<std::string>());
  EXPECT_EQ(Read(), "vgpu.present=false\n");
}

TEST_F(VfioTest, TheHostsDatabaseBelowTheDriversRootComesBeforeTheImages) {
  Plug("0000:01:00.0", "1eb8", "vfio-pci");
  EXPECT_EQ(Models(), std::vector<std::string>{"NVIDIA Device 1eb8"});

  Write("/usr/share/misc/pci.ids", "10de  NVIDIA\n\t1eb8  Of the image\n");
  EXPECT_EQ(Models(), std::vector<std::string>{"Of the image"});

  Write("/driver-root/usr/share/misc/pci.ids", kDatabase);
  EXPECT_EQ(Models(), std::vector<std::string>{"TU104GL [Tesla T4]"});
}

TEST(ModelIn, IsTheVendorsOwnDevice) {
  EXPECT_EQ(ModelIn(kDatabase, 0x2331), "GH100 [H100 PCIe]");
  EXPECT_EQ(ModelIn(kDatabase, 0x2335), "");
  EXPECT_EQ(ModelIn(kDatabase, 0x12a2), "");
  EXPECT_EQ(ModelIn("", 0x2331), "");
}

TEST(LargestWindow, IsOneOfSixtyFourBitsInMebibytes) {
  EXPECT_EQ(LargestWindow(kWindowsOfH100), 131'072U);
  EXPECT_EQ(LargestWindow("0x42000000 0x42ffffff 0x40200\n"), 0U);
  EXPECT_EQ(LargestWindow("0x42000000 0x41ffffff 0x140204\nno numbers here\n"), 0U);
  EXPECT_EQ(LargestWindow(""), 0U);
}

}  // namespace
}  // namespace tessera::nvidia
