// SPDX-License-Identifier: Apache-2.0
#include "hami/mig_allocations.h"

#include <gtest/gtest.h>

#include <random>

namespace tessera::hami {
namespace {

constexpr char kReserved[] =
    R"([{"containerIndex":0,"deviceIndex":0,"gpuUUID":"GPU-a","profile":"2g.10gb",)"
    R"("placement":{"start":2,"size":2}}])";
constexpr char kMade[] =
    R"([{"containerIndex":0,"deviceIndex":0,"gpuUUID":"GPU-a","profile":"2g.10gb",)"
    R"("placement":{"start":2,"size":2},)"
    R"("migUUID":"MIG-b","gpuInstanceID":4,"computeInstanceID":0}])";

MigAllocation Reserved() {
  return {.gpu_uuid = "GPU-a", .profile = "2g.10gb", .placement = {2, 2}};
}

// The error for an allocation with these members after the required ones.
std::string MigError(std::string_view members) {
  const auto read = DecodeMigAllocations(
      fmt::format(R"([{{"gpuUUID":"GPU-a","profile":"1g","placement":{{"size":1}}{}}}])", members));
  return read ? "" : read.error().message;
}

std::string MigTextError(std::string_view text) {
  const auto read = DecodeMigAllocations(text);
  return read ? "" : read.error().message;
}

TEST(MigAllocations, AReservationIsWrittenAndReadAsHamiDoes) {
  EXPECT_EQ(EncodeMigAllocations(std::vector{Reserved()}), kReserved);
  EXPECT_EQ(DecodeMigAllocations(kReserved), std::vector{Reserved()});
}

TEST(MigAllocations, WhatTheNodeMadeOfItIsWrittenAndRead) {
  MigAllocation made = Reserved();
  made.instance = MigInstance{"MIG-b", 4, 0};
  EXPECT_EQ(EncodeMigAllocations(std::vector{made}), kMade);
  EXPECT_EQ(DecodeMigAllocations(kMade), std::vector{made});
}

TEST(MigAllocations, NoneAreNoText) {
  EXPECT_EQ(EncodeMigAllocations({}), "");
  EXPECT_EQ(DecodeMigAllocations(""), std::vector<MigAllocation>());
  EXPECT_EQ(DecodeMigAllocations("[]"), std::vector<MigAllocation>());
}

TEST(MigAllocations, WhatIsNotKnownOrNullIsPassedOver) {
  EXPECT_EQ(MigError(R"(,"x":[1],"migUUID":null,"gpuInstanceID":null)"), "");
  EXPECT_EQ(MigError(R"(,"migUUID":"")"), "");
}

TEST(MigAllocations, AnInstanceHasAllIdsOrNone) {
  const std::string said =
      "hami.io/vgpu-mig-allocations: allocation 0: it has not all or none of migUUID, "
      "gpuInstanceID and computeInstanceID, but ";
  EXPECT_EQ(MigError(R"(,"migUUID":"MIG-b")"), said + "1");
  EXPECT_EQ(MigError(R"(,"gpuInstanceID":0)"), said + "1");
  EXPECT_EQ(MigError(R"(,"computeInstanceID":0)"), said + "1");
  EXPECT_EQ(MigError(R"(,"migUUID":"MIG-b","gpuInstanceID":0)"), said + "2");
  EXPECT_EQ(MigError(R"(,"migUUID":"MIG-b","gpuInstanceID":0,"computeInstanceID":0)"), "");
}

TEST(MigAllocations, TwoOfOneDeviceAreRefused) {
  MigAllocation second = Reserved();
  second.device_index = 1;
  EXPECT_EQ(MigTextError(EncodeMigAllocations(std::vector{Reserved(), second})), "");
  EXPECT_EQ(MigTextError(EncodeMigAllocations(std::vector{second, second})),
            "hami.io/vgpu-mig-allocations: two allocations are for device 1 of container 0");
}

TEST(MigAllocations, WhatIsNotCompleteIsRefused) {
  const auto error = [](std::string_view text) {
    const std::string message = MigTextError(text);
    const std::string where = "hami.io/vgpu-mig-allocations: ";
    return message.starts_with(where) ? message.substr(where.size()) : message;
  };
  EXPECT_EQ(error("{}"), "allocations are not a list");
  EXPECT_EQ(error("[{}]"), "allocation 0: it has no gpuUUID");
  EXPECT_EQ(error(R"([{"gpuUUID":"a"}])"), "allocation 0: it has no profile");
  EXPECT_EQ(error(R"([{"gpuUUID":"a","profile":"1g","placement":{"start":1}}])"),
            "allocation 0: it has no placement");
  EXPECT_EQ(error(R"([{"gpuUUID":"a","profile":"1g","placement":[1]}])"),
            "allocation 0: placement: not an object");
  EXPECT_EQ(error(R"([{"gpuUUID":"a","profile":"1g","placement":{"size":-1}}])"),
            "allocation 0: placement: size is -1, not between 0 and 4294967295");
  EXPECT_EQ(error(R"([{"deviceIndex":-1,"gpuUUID":"a","profile":"1g","placement":{"size":1}}])"),
            "allocation 0: an index is negative");
}

TEST(MigAllocations, WhateverIsWrittenIsReadBack) {
  std::mt19937 random(11);
  const auto number = [&] { return static_cast<uint32_t>(random()); };
  for (int round = 0; round < 2'000; ++round) {
    std::vector<MigAllocation> allocations;
    for (int32_t i = 0; i < static_cast<int32_t>(random() % 6); ++i) {
      MigAllocation one = Reserved();
      one.container_index = static_cast<int32_t>(random() % 4);
      one.device_index = i;
      one.gpu_uuid += std::to_string(random());
      one.placement = {number() % 8, 1 + number() % 8};
      if (random() % 2 == 0) {
        one.instance = MigInstance{"MIG-" + std::to_string(random()), number(), number() % 8};
      }
      allocations.push_back(one);
    }
    ASSERT_EQ(DecodeMigAllocations(EncodeMigAllocations(allocations)), allocations);
  }
}

}  // namespace
}  // namespace tessera::hami
