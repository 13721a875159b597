// SPDX-License-Identifier: Apache-2.0
#include "backend/nvidia/labels/vgpu.h"

#include <gtest/gtest.h>

namespace tessera::nvidia {
namespace {

// Of a host with 460.16, in the place where a GRID T4 has it.
const std::string kRecord(
    "\x00\x16"
    "460.16\0\0\0\0"
    "r460_00\0\0\0",
    22);
const std::string kCapability = std::string(
                                    "\x09\x68\x1b"
                                    "VF",
                                    5) +
                                kRecord;

// A configuration space with these capabilities at their places; the first is the list's head.
std::string Space(const std::vector<std::pair<size_t, std::string>>& capabilities) {
  std::string space(kConfigSpace, '\0');
  space[0x06] = 0x10;
  space[0x34] = static_cast<char>(capabilities.front().first);
  for (const auto& [at, bytes] : capabilities) space.replace(at, bytes.size(), bytes);
  return space;
}

TEST(Vgpu, TheHostsDriverIsReadFromTheCapability) {
  const std::string space = Space({{0x68, std::string("\x05\xd0", 2)}, {0xd0, kCapability}});

  const std::string_view capability = VendorCapability(space);
  EXPECT_EQ(capability, kCapability);
  EXPECT_TRUE(IsVgpu(capability));
  EXPECT_EQ(HostDriverIn(capability), (HostDriver{"460.16", "r460_00"}));
}

TEST(Vgpu, OtherRecordsArePassedOver) {
  const std::string other("\x02\x04zz", 4);
  const std::string capability = std::string(
                                     "\x09\0\x1f"
                                     "VF",
                                     5) +
                                 other + kRecord;

  EXPECT_EQ(HostDriverIn(capability), (HostDriver{"460.16", "r460_00"}));
}

TEST(Vgpu, AGpuThatIsPassedThroughIsNone) {
  // It has a vendor-specific capability without the letters "VF".
  const std::string space = Space({{0xc8, std::string("\x09\0\x14\x01\0", 5)}});

  EXPECT_EQ(VendorCapability(space).size(), 0x14U);
  EXPECT_FALSE(IsVgpu(VendorCapability(space)));
  EXPECT_EQ(HostDriverIn(VendorCapability(space)), std::nullopt);
}

TEST(Vgpu, ASpaceThatIsNotAllThereHasNoCapability) {
  EXPECT_EQ(VendorCapability(Space({{0xd0, kCapability}}).substr(0, 64)), "");
}

TEST(Vgpu, ADeviceWithoutCapabilitiesHasNone) {
  std::string space = Space({{0xd0, kCapability}});
  space[0x06] = 0;
  EXPECT_EQ(VendorCapability(space), "");
}

TEST(Vgpu, AChainThatGoesRoundEnds) {
  EXPECT_EQ(VendorCapability(
                Space({{0x68, std::string("\x05\x70", 2)}, {0x70, std::string("\x01\x68", 2)}})),
            "");
}

TEST(Vgpu, AChainThatLeadsToNothingEnds) {
  EXPECT_EQ(VendorCapability(Space({{0x68, std::string("\xff\xd0", 2)}, {0xd0, kCapability}})), "");
}

TEST(Vgpu, ACapabilityThatWouldReachBeyondTheSpaceIsNone) {
  EXPECT_EQ(VendorCapability(Space({{0xf0, std::string("\x09\0\x20", 3)}})), "");
  EXPECT_EQ(VendorCapability(Space({{0xff, std::string("\x09", 1)}})), "");
}

TEST(Vgpu, WithoutARecordOfTheDriverTheHostIsNotKnown) {
  const std::string head(
      "\x09\0\x1f"
      "VF",
      5);
  EXPECT_EQ(HostDriverIn(head), std::nullopt);
  EXPECT_EQ(HostDriverIn(head + std::string("\x02\x00", 2)), std::nullopt);  // it never ends
  EXPECT_EQ(HostDriverIn(head + std::string("\x02\xff", 2)), std::nullopt);  // it ends outside
  EXPECT_EQ(HostDriverIn(head + kRecord.substr(0, 21)), std::nullopt);
}

}  // namespace
}  // namespace tessera::nvidia
