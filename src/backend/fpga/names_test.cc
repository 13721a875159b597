// SPDX-License-Identifier: Apache-2.0
#include "backend/fpga/names.h"

#include <gtest/gtest.h>

namespace tessera::fpga {
namespace {

constexpr char kInterface[] = "ce48969398f05f33946d560708be108a";
constexpr char kNlb0[] = "d8424dc4a4a3c413f89e433683f9040b";

TEST(Names, AFunctionsProfileIsThatOfIntelsPlugin) {
  EXPECT_EQ(AfProfile(kInterface, kNlb0), "af-ce4.d84.zkiWk5jwXzOUbVYHCL4QithCTcSko8QT-J5DNoP5BAs");
  const std::string ones(32, 'f');
  EXPECT_EQ(AfProfile(ones, ones), "af-fff.fff.__________________________________________8");
}

TEST(Names, ARegionsProfileHasItsInterface) {
  EXPECT_EQ(RegionProfile(kInterface), "region-ce48969398f05f33946d560708be108a");
}

TEST(Names, AFunctionsInstanceIsMadeOfItsAddress) {
  EXPECT_EQ(InstanceOf("0000:d8:00.1"), 55297U);
  EXPECT_EQ(InstanceOf("0001:3b:02.0"), 80656U);
  for (const char* const text : {"", "0000:d8:00", "0000:d8:00.x", "region0"}) {
    EXPECT_EQ(InstanceOf(text), std::nullopt) << text;
  }
}

TEST(Names, AShellsProfileHasItsTime) {
  EXPECT_EQ(ShellProfile("xilinx_u250_gen3x16_xdma_shell_4_1", "0"),
            "xilinx_u250_gen3x16_xdma_shell_4_1-0");
}

TEST(Names, AShellWhoseNameNoResourceCanHaveHasNoProfile) {
  for (const char* shell : {"", "a b", "a/b", "_a", "a\xff", "xilinx:u250"}) {
    EXPECT_EQ(ShellProfile(shell, "0"), std::nullopt) << shell;
  }
  EXPECT_EQ(ShellProfile(std::string(62, 'a'), "0"), std::nullopt);
  EXPECT_EQ(ShellProfile("a", ""), std::nullopt);
  EXPECT_EQ(ShellProfile("a", "0-"), std::nullopt);
}

TEST(Names, AnIdHas32Digits) {
  EXPECT_EQ(ParseId("CE48969398F05F33946D560708BE108A\n"), kInterface);
  EXPECT_EQ(ParseId("ce48969398f05f33946d560708be108"), std::nullopt);
  EXPECT_EQ(ParseId("ce48969398f05f33946d560708be108g"), std::nullopt);
  EXPECT_EQ(ParseId(""), std::nullopt);
  EXPECT_TRUE(IsOnes(std::string(32, 'f')));
  EXPECT_FALSE(IsOnes(kInterface));
}

TEST(Names, APathsLastPciAddressIsTheFunctions) {
  EXPECT_EQ(PciAddressIn("/sys/devices/pci0000:5d/0000:5d:00.0/0000:5e:00.0/fpga_region/region0"),
            "0000:5e:00.0");
  EXPECT_EQ(PciAddressIn("/sys/devices/pci10000:00/10000:01:00.1/x"), "10000:01:00.1");
  EXPECT_EQ(PciAddressIn("/sys/devices/platform/region0"), "");
  EXPECT_EQ(PciAddressIn("/sys/devices/0000-5e-00.0/000:5e:00.0/0000:5e:00.x"), "");
}

TEST(Names, ANumberStandsBehindItsName) {
  EXPECT_EQ(NumberBehind("dfl-port.", "dfl-port.12"), 12U);
  EXPECT_EQ(NumberBehind("dfl-port.", "dfl-port."), std::nullopt);
  EXPECT_EQ(NumberBehind("dfl-port.", "dfl-port.1.auto"), std::nullopt);
  EXPECT_EQ(NumberBehind("dfl-port.", "dfl-fme.1"), std::nullopt);
}

TEST(Names, ARegisterHasANumberOfEitherKind) {
  EXPECT_EQ(ParseRegister("0x10\n"), 16U);
  EXPECT_EQ(ParseRegister("16"), 16U);
  EXPECT_EQ(ParseRegister("0xffffffffffffffff"), ~uint64_t{0});
  EXPECT_EQ(ParseRegister("0x1ffffffffffffffff"), std::nullopt);
  EXPECT_EQ(ParseRegister(""), std::nullopt);
  EXPECT_EQ(ParseRegister("0x"), std::nullopt);
}

}  // namespace
}  // namespace tessera::fpga
