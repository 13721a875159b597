// SPDX-License-Identifier: Apache-2.0
#include "scheduler/whole_devices.h"

#include <gtest/gtest.h>

namespace tessera::scheduler {
namespace {

RequestRules Rules() {
  return RulesOf(std::string(hami::kNvidia.count), hami::kNvidia.Requests());
}

TEST(WholeDevicesTest, ANodeHasThemWhoseResourceNobodyRegisters) {
  const auto count = [](const kube::Texts& annotations, const kube::Texts& allocatable) {
    return WholeDevicesOf({.annotations = annotations, .allocatable = allocatable}, hami::kNvidia,
                          Rules());
  };
  EXPECT_EQ(count({}, {{"nvidia.com/gpu", "8"}}), 8);
  EXPECT_EQ(count({}, {}), 0);
  EXPECT_EQ(count({}, {{"nvidia.com/gpu", "-1"}}), 0);
  EXPECT_EQ(count({}, {{"nvidia.com/gpu", "8k"}}), 0);
  EXPECT_EQ(count({{"hami.io/node-nvidia-register", ""}}, {{"nvidia.com/gpu", "8"}}), 0);
  EXPECT_EQ(count({{"tessera.dev/agent", "0.1.0"}}, {{"nvidia.com/gpu", "8"}}), 0);
}

TEST(WholeDevicesTest, APodCanHaveThemThatWantsAllOfAnyDevice) {
  const Request whole{.count = 2, .percentage = 100};
  const auto asks = [](const Request& request, const DeviceSelector& selector = {}) {
    return AsksForAnyWhole(
        {.containers = {{.name = "main", .request = request}}, .selector = selector});
  };
  EXPECT_TRUE(asks(whole));
  EXPECT_TRUE(asks(whole, {.family = "NVIDIA"}));
  EXPECT_TRUE(asks({.count = 1, .percentage = 100, .cores = 100}));
  EXPECT_FALSE(asks({.count = 1, .memory = 3000}));
  EXPECT_FALSE(asks({.count = 1, .percentage = 50}));
  EXPECT_FALSE(asks({.count = 1, .percentage = 100, .cores = 30}));
  EXPECT_FALSE(asks(whole, {.types = {"A100"}}));
  EXPECT_FALSE(asks(whole, {.no_ids = {"GPU-1"}}));
  EXPECT_FALSE(asks(whole, {.modes = "mig"}));
  EXPECT_FALSE(AsksForAnyWhole({.containers = {{.name = "a", .request = whole}},
                                .policy = {.together = Together::kOneNuma}}));
  EXPECT_FALSE(AsksForAnyWhole(
      {.containers = {{.name = "a", .request = whole}, {.name = "b", .request = {.memory = 1}}}}));
}

}  // namespace
}  // namespace tessera::scheduler
