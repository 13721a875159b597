// SPDX-License-Identifier: Apache-2.0
#include "backend/rdma/devinfo.h"

#include <gtest/gtest.h>

#include "backend/rdma/node_test.h"

namespace tessera::rdma {
namespace {

constexpr char kResource[] = "example.com/nic";

class DevInfoTest : public NodeTest {
 protected:
  std::string PathOf(const std::string& name) const {
    return root_.Path(std::string(kDevInfo) + "/" + name);
  }
  std::vector<std::string> Files() const { return os::ListDirectory(root_.Path(kDevInfo)).value(); }
};

TEST_F(DevInfoTest, AFileNamesTheFunctionAndItsRdmaDevice) {
  ASSERT_TRUE(WriteDevInfo(root_, kResource, {.address = "0000:af:00.1", .hca = "mlx5_2"}));
  EXPECT_EQ(os::ReadFile(PathOf("example.com-nic-0000:af:00.1-device.json")).value(),
            R"({"type":"pci","version":"1.1.0",)"
            R"("pci":{"pci-address":"0000:af:00.1","rdma-device":"mlx5_2"}})");
}

TEST_F(DevInfoTest, AFunctionOfVfioHasNoRdmaDevice) {
  EXPECT_EQ(DevInfoText({.address = "0000:af:00.1"}),
            R"({"type":"pci","version":"1.1.0","pci":{"pci-address":"0000:af:00.1"}})");
}

TEST_F(DevInfoTest, AFileThatIsRightIsNotWrittenAgain) {
  const Function function{.address = "0000:af:00.1", .hca = "mlx5_2"};
  ASSERT_TRUE(WriteDevInfo(root_, kResource, function));
  const auto before = os::Inspect(PathOf(DevInfoName(kResource, function.address)));
  ASSERT_TRUE(WriteDevInfo(root_, kResource, function));
  EXPECT_EQ(os::Inspect(PathOf(DevInfoName(kResource, function.address))), before);
  ASSERT_TRUE(WriteDevInfo(root_, kResource, {.address = "0000:af:00.1", .hca = "mlx5_7"}));
  EXPECT_NE(os::Inspect(PathOf(DevInfoName(kResource, function.address))), before);
}

TEST_F(DevInfoTest, FilesOfFunctionsThatAreGoneAreRemovedAndThoseOfOthersStay) {
  const Function stays{.address = "0000:af:00.1"};
  ASSERT_TRUE(WriteDevInfo(root_, kResource, stays));
  ASSERT_TRUE(WriteDevInfo(root_, kResource, {.address = "0000:af:00.2"}));
  ASSERT_TRUE(WriteDevInfo(root_, "example.com/nic-b", {.address = "0000:af:00.3"}));
  Write(std::string(kDevInfo) + "/example.com-nic-device.json", "");
  RemoveOtherDevInfo(root_, kResource, {stays});
  EXPECT_EQ(Files(), (std::vector<std::string>{"example.com-nic-0000:af:00.1-device.json",
                                               "example.com-nic-b-0000:af:00.3-device.json",
                                               "example.com-nic-device.json"}));
}

}  // namespace
}  // namespace tessera::rdma
