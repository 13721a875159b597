// SPDX-License-Identifier: Apache-2.0
#include "device/capacity.h"

#include <gtest/gtest.h>

#include <utility>

namespace tessera {
namespace {

Device PartOfCard(const std::string& id, const std::string& parent, int64_t memory,
                  DeviceTraits traits = {}) {
  Device device;
  device.key = {"fixture.com/part", id};
  device.parent = parent;
  device.memory = memory;
  device.traits = std::move(traits);
  return device;
}

TEST(TotalOf, AddsUpWhatEachHas) {
  EXPECT_EQ(TotalOf({PartOfCard("0", "card", 64, {.capacities = {{"cores", 38}, {"links", 1}}}),
                     PartOfCard("1", "card", 64, {.capacities = {{"cores", 38}}}),
                     PartOfCard("2", "", 8)}),
            (Capacity{136, {{"cores", 76}, {"links", 1}}}));
}

TEST(TotalOf, MemoryThatPartsOfOneDeviceShareCountsOnce) {
  const DeviceTraits shared{.capacities = {{"cores", 38}}, .shares_memory = true};

  EXPECT_EQ(TotalOf({PartOfCard("0", "card 0", 192, shared), PartOfCard("1", "card 0", 192, shared),
                     PartOfCard("2", "card 1", 192, shared)}),
            (Capacity{384, {{"cores", 114}}}));
}

}  // namespace
}  // namespace tessera
