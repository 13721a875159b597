// SPDX-License-Identifier: Apache-2.0
#include "cli/devices_use.h"

#include <gtest/gtest.h>

#include <string>

#include "region/region_test.h"

namespace tessera::cli {
namespace {

using region::kGpu;
using region::kMib;

class DevicesUseTest : public testing::Test {
 protected:
  DevicesUseTest() {
    region_.Hold(0, 17, 0, 600 * kMib, 0);
    EXPECT_TRUE(os::MakeDirectories(directory_ + "/vgpu/containers/0123", 0755));
    Write();
  }
  ~DevicesUseTest() override { (void)os::RemoveTree(directory_); }

  void Write() {
    EXPECT_TRUE(os::ReplaceFile(directory_ + "/vgpu/containers/0123/" + RegionNameOf("0123"),
                                region_.Bytes(), 0644));
  }
  std::string Holders(Duration measured) {
    json::Value inventory =
        json::Parse(R"({"devices":[{"id":")" + std::string(kGpu) +
                    R"(","holders":[{"uid":"uid-1","container":"main"},{"uid":"uid-2"}]}]})")
            .value();
    AddUse(
        granted_, os::Root(directory_), measured,
        [this](Duration) {
          region_.Charge(0, charged_);
          Write();
        },
        inventory);
    return json::Write(inventory.at("devices").at(0).at("holders"));
  }

  const std::string directory_ = *os::MakeTemporaryDirectory(testing::TempDir() + "devices_use");
  region::TestRegion region_{{{kGpu, 2048 * kMib, 30}}};
  uint64_t charged_ = 1;  // ns, during the measurement
  monitor::Granted granted_{
      .containers = {{.pod = "uid-1",
                      .container = "main",
                      .grant = "0123",
                      .file = "/vgpu/containers/0123/" + RegionNameOf("0123")}}};
};

TEST_F(DevicesUseTest, AHolderHasTheMemoryThatItsRegionSays) {
  EXPECT_EQ(Holders(Duration(0)),
            R"([{"uid":"uid-1","container":"main","usedBytes":629145600},{"uid":"uid-2"}])");
}

TEST_F(DevicesUseTest, AMeasuredHolderHasItsPartOfTheTimeIfItIsKnown) {
  EXPECT_NE(Holders(Duration(1)).find(R"("usedBytes":629145600,"coresGot":)"), std::string::npos);
  charged_ = 1'000'000'000'000;  // more than the time that passes
  EXPECT_EQ(Holders(Duration(1)),
            R"([{"uid":"uid-1","container":"main","usedBytes":629145600},{"uid":"uid-2"}])");
}

TEST_F(DevicesUseTest, WithoutARegionNothingIsAdded) {
  ASSERT_TRUE(os::RemoveTree(directory_ + "/vgpu"));
  EXPECT_EQ(Holders(Duration(0)), R"([{"uid":"uid-1","container":"main"},{"uid":"uid-2"}])");
}

}  // namespace
}  // namespace tessera::cli
