// SPDX-License-Identifier: Apache-2.0
#include "backend/pci_function.h"

#include <gtest/gtest.h>

#include "backend/fixture_kind_test.h"

namespace tessera {
namespace {

constexpr char kAddress[] = "0000:47:00.2";
constexpr char kDirectory[] = "/sys/devices/pci0000:40/0000:47:00.2";

class PciFunctionTest : public testing::Test {
 protected:
  PciFunctionTest() {
    tree_.AddPci(std::string("pci0000:40/") + kAddress);
    Write("/device", "0x101e\n");
  }
  void Write(const std::string& file, const std::string& text) {
    tree_.Write(kDirectory + file, text);
  }
  PciFunction Read() const { return ReadPciFunction(tree_.root(), kAddress); }

  const FixtureTree tree_;
};

TEST_F(PciFunctionTest, IsWhatItsFilesAndLinksSay) {
  tree_.Link(std::string(kDirectory) + "/driver", "../../../bus/pci/drivers/mlx5_core");
  tree_.Link(std::string(kDirectory) + "/physfn", "../0000:47:00.0");
  Write("/net/ib0/type", "32\n");

  EXPECT_EQ(Read(), (PciFunction{.vendor = "1d1d",
                                 .device = "101e",
                                 .driver = "mlx5_core",
                                 .physical_function = "0000:47:00.0",
                                 .link_type = "infiniband"}));
}

TEST_F(PciFunctionTest, WithoutADriverOrAnInterfaceTheseAreNotKnown) {
  EXPECT_EQ(Read(), (PciFunction{.vendor = "1d1d", .device = "101e"}));
}

TEST_F(PciFunctionTest, AnInterfaceOfAnotherTypeHasNoNameForIt) {
  Write("/net/eth0/type", "1\n");
  EXPECT_EQ(Read().link_type, "ether");
  Write("/net/eth0/type", "772\n");
  EXPECT_EQ(Read().link_type, "");
}

TEST_F(PciFunctionTest, AFunctionThatIsNotThereIsNotKnown) {
  EXPECT_EQ(ReadPciFunction(tree_.root(), "0000:01:00.0"), PciFunction());
}

TEST(PciSelector, OfEachListOneMustFit) {
  const PciFunction function{.vendor = "15b3", .device = "101e", .driver = "mlx5_core"};

  EXPECT_TRUE(Selects({}, function));
  EXPECT_TRUE(Selects({.vendors = {"8086", "15b3"}, .drivers = {"mlx5_core"}}, function));
  EXPECT_FALSE(Selects({.vendors = {"15b3"}, .devices = {"101d"}}, function));
  EXPECT_FALSE(Selects({.physical_functions = {"0000:47:00.0"}}, function));
  EXPECT_FALSE(Selects({.link_types = {"ether"}}, function));
}

}  // namespace
}  // namespace tessera
