// SPDX-License-Identifier: Apache-2.0
#include "fpga/node.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "os/files.h"

namespace tessera::fpga {
namespace {

constexpr char kPort[] =
    "/sys/devices/pci0000:5d/0000:5d:00.0/0000:5e:00.0/fpga_region/region0/dfl-port.0";

class FpgaNodeTest : public testing::Test {
 protected:
  ~FpgaNodeTest() override { EXPECT_TRUE(os::RemoveTree(directory_)); }

  // A file's text without its last line end; "-" if there is no such file.
  std::string Text(const std::string& path) const {
    std::string text = os::ReadFile(directory_ + path).value_or("-");
    if (text.ends_with('\n')) text.pop_back();
    return text;
  }
  bool Exists(const std::string& path) const { return os::Exists(directory_ + path); }
  int Run(const std::string& words) const {
    return std::system(
        fmt::format("{} {} {} 2>/dev/null", TESSERA_FPGA_TREE, directory_, words).c_str());
  }

  const std::string directory_ = os::MakeTemporaryDirectory(testing::TempDir() + "fpga").value();
};

TEST_F(FpgaNodeTest, ACardOfDflHasWhatTheKernelsPagesSay) {
  const FpgaNode node(directory_, Pac());
  EXPECT_EQ(Text("/sys/class/fpga_region/region0/dfl-port.0/afu_id"),
            "d8424dc4a4a3c413f89e433683f9040b");
  EXPECT_EQ(Text("/sys/class/fpga_region/region0/dfl-port.0/id"), "0");
  EXPECT_EQ(Text("/sys/class/fpga_region/region0/dfl-port.0/errors/errors"), "0x0");
  EXPECT_EQ(Text("/sys/class/fpga_region/region1/compat_id"), "ce48969398f05f33946d560708be108a");
  EXPECT_EQ(Text("/sys/class/fpga_region/region0/device/vendor"), "0x8086");
  EXPECT_TRUE(Exists("/dev/dfl-fme.0"));
  EXPECT_TRUE(Exists("/sys/bus/pci/devices/0000:be:00.1/physfn/vendor"));
}

TEST_F(FpgaNodeTest, ACardOfXilinxsHasTwoFunctions) {
  const FpgaNode node(directory_, Alveo());
  EXPECT_EQ(Text("/sys/bus/pci/devices/0000:d8:00.0/instance"), "55296");
  EXPECT_TRUE(Exists("/sys/bus/pci/devices/0000:d8:00.0/mgmt_pf"));
  EXPECT_TRUE(Exists("/sys/bus/pci/devices/0000:d8:00.1/user_pf"));
  EXPECT_TRUE(Exists("/sys/bus/pci/devices/0000:d8:00.1/drm/renderD130"));
  EXPECT_EQ(Text("/sys/bus/pci/devices/0000:d8:00.1/xmc.u.19922944/serial_num"), "21320621V00D");
  EXPECT_TRUE(Exists("/dev/xclmgmt55296"));
}

TEST_F(FpgaNodeTest, ALostCardReadsAsOnes) {
  FpgaNode node(directory_, Pac());
  node.Lose(0);
  EXPECT_EQ(Text(std::string(kPort) + "/afu_id"), std::string(32, 'f'));
  EXPECT_EQ(Text("/sys/bus/pci/devices/0000:5e:00.0/config"), std::string(64, '\xff'));
}

TEST_F(FpgaNodeTest, AnUnpluggedCardLeavesNothingButItsBridges) {
  FpgaNode node(directory_, Pac());
  node.Unplug(0);
  EXPECT_FALSE(Exists("/sys/bus/pci/devices/0000:5e:00.0"));
  EXPECT_FALSE(Exists("/sys/class/fpga_region/region0"));
  EXPECT_TRUE(Exists("/dev/dfl-port.0"));  // now another card's
  EXPECT_FALSE(Exists("/dev/dfl-port.2"));
}

TEST_F(FpgaNodeTest, ACardOrPortThatIsNotThereCannotChange) {
  FpgaNode node(directory_, Pac());
  EXPECT_THROW(node.Lose(2), BadChange);
  EXPECT_THROW(node.SetErrors(0, 1, 1), BadChange);
  EXPECT_THROW(node.Load(0), BadChange);
  EXPECT_THROW(node.Apply({"lose"}), BadChange);
  EXPECT_THROW(NamedNode("none"), BadChange);
}

TEST_F(FpgaNodeTest, AProgramTakesOverTheNodeOfAnother) {
  ASSERT_EQ(Run("pac"), 0);
  ASSERT_EQ(Run("pac errors 0 0 16"), 0);
  ASSERT_EQ(Run("pac lose 1"), 0);
  EXPECT_EQ(Text(std::string(kPort) + "/errors/errors"), "0x10");
  EXPECT_EQ(Text("/.fpga-node"), "pac\nerrors 0 0 16\nlose 1");
  EXPECT_NE(Run("alveo"), 0);
  EXPECT_NE(Run("pac none"), 0);
}

}  // namespace
}  // namespace tessera::fpga
