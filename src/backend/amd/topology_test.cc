// SPDX-License-Identifier: Apache-2.0
#include "backend/amd/topology.h"

#include <gtest/gtest.h>

namespace tessera::amd {
namespace {

using Properties = std::map<std::string, uint64_t, std::less<>>;

TEST(TopologyTest, PropertiesAreNamesAndNumbersUpTo64Bits) {
  EXPECT_EQ(ParseProperties("simd_count 152\nunique_id 16404946649897475633\nname vega\n"
                            "too_big 18446744073709551616\nnegative -1\n\nempty \nlone\n"),
            (Properties{{"simd_count", 152}, {"unique_id", 16'404'946'649'897'475'633U}}));
  EXPECT_EQ(ParseProperties(""), Properties());
}

TEST(TopologyTest, AVersionsSteppingIsHexadecimal) {
  EXPECT_EQ(GfxName(90'402), "gfx942");
  EXPECT_EQ(GfxName(90'010), "gfx90a");
  EXPECT_EQ(GfxName(110'000), "gfx1100");
  EXPECT_EQ(GfxName(0), "");
}

}  // namespace
}  // namespace tessera::amd
