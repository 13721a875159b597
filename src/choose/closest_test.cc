// SPDX-License-Identifier: Apache-2.0
#include "choose/closest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace tessera {
namespace {

using Positions = std::vector<uint32_t>;
using Pair = std::pair<uint32_t, uint32_t>;

// Devices "0", "1", ...; these pairs have points in both directions.
std::vector<Device> DevicesOf(size_t count, const std::vector<std::pair<Pair, int>>& links) {
  std::vector<Device> devices(count);
  for (size_t i = 0; i < count; ++i) devices[i].key.id = std::to_string(i);
  for (const auto& [pair, points] : links) {
    devices[pair.first].links.push_back({std::to_string(pair.second), points});
    devices[pair.second].links.push_back({std::to_string(pair.first), points});
  }
  return devices;
}

Closeness ClosenessOf(const std::vector<Device>& devices) {
  std::vector<const Device*> pointers;
  for (const Device& device : devices) pointers.push_back(&device);
  return Closeness(pointers);
}

Positions All(size_t count) {
  Positions positions(count);
  std::iota(positions.begin(), positions.end(), 0);
  return positions;
}

int Inside(const Closeness& closeness, const Positions& set) {
  int points = 0;
  for (size_t i = 0; i < set.size(); ++i) {
    for (size_t j = i + 1; j < set.size(); ++j) points += closeness.Between(set[i], set[j]);
  }
  return points;
}

Positions Rest(size_t count, const Positions& set) {
  Positions rest;
  for (uint32_t i = 0; i < count; ++i) {
    if (!std::binary_search(set.begin(), set.end(), i)) rest.push_back(i);
  }
  return rest;
}

template <class Visit>
void ForEachSet(const Positions& from, size_t size, const Visit& visit) {
  std::vector<bool> taken(from.size());
  std::fill(taken.begin(), taken.begin() + static_cast<std::ptrdiff_t>(size), true);
  do {
    Positions set;
    for (size_t i = 0; i < from.size(); ++i) {
      if (taken[i]) set.push_back(from[i]);
    }
    visit(set);
  } while (std::prev_permutation(taken.begin(), taken.end()));
}

// A realistic server: two sockets, PCIe switches of two or four GPUs, and NVLinks between some
// pairs. The points are those of NVIDIA's plugin, in both directions.
std::vector<Device> RandomServer(std::mt19937& random, size_t count) {
  const size_t per_switch = random() % 2 == 0 ? 2 : 4;
  const size_t per_socket = std::max<size_t>(1, count / 2);
  const unsigned linked = static_cast<unsigned>(random() % 4);  // out of 4 pairs
  std::vector<std::pair<Pair, int>> links;
  for (uint32_t a = 0; a < count; ++a) {
    for (uint32_t b = a + 1; b < count; ++b) {
      const bool one_socket = a / per_socket == b / per_socket;
      int points = one_socket ? (a / per_switch == b / per_switch ? 50 : 30) : 10;
      if (random() % 4 < linked) points += 100 * static_cast<int>(1 + random() % 4);
      links.push_back({{a, b}, points});
    }
  }
  return DevicesOf(count, links);
}

TEST(Closeness, AddsWhatBothEndsSayAndIgnoresPeersThatAreNotThere) {
  std::vector<Device> devices = DevicesOf(3, {{{0, 1}, 50}});
  devices[0].links.push_back({"1", 100});
  devices[2].links = {{"9", 100}, {"2", 100}};
  const Closeness closeness = ClosenessOf(devices);

  EXPECT_EQ(closeness.Between(0, 1), 200);
  EXPECT_EQ(closeness.Between(1, 0), 200);
  EXPECT_EQ(closeness.Between(0, 2), 0);
  EXPECT_EQ(closeness.Between(2, 2), 0);
  EXPECT_TRUE(closeness.IsKnown());
}

TEST(Closeness, ALinkToAnotherSourcesDeviceIsNoneToOneOfThatId) {
  std::vector<Device> devices = DevicesOf(2, {});
  devices[0].links = {{"1", 50, "fixture.com/nic"}};

  EXPECT_FALSE(ClosenessOf(devices).IsKnown());
}

TEST(Closeness, PartsOfOneDeviceAreClose) {
  std::vector<Device> devices = DevicesOf(3, {});
  EXPECT_FALSE(ClosenessOf(devices).IsKnown());
  devices[0].parent = devices[2].parent = "GPU-1";

  const Closeness closeness = ClosenessOf(devices);

  EXPECT_EQ(closeness.Between(0, 2), 120);
  EXPECT_EQ(closeness.Between(0, 1), 0);
}

// As many parts as one device has come from one that has all of them. The last device lacks one, as
// on a node whose kernel has no number for it.
TEST(Closest, AWholeDeviceOfPartsIsFoundAmongManyParts) {
  constexpr uint32_t kParts = 8, kDevices = 8, kSocket = 4;
  std::vector<std::pair<Pair, int>> links;
  for (uint32_t a = 0; a < kDevices * kParts - 1; ++a) {
    for (uint32_t b = a + 1; b < kDevices * kParts - 1; ++b) {
      const bool one_socket = a / kParts / kSocket == b / kParts / kSocket;
      if (one_socket) links.push_back({{a, b}, a / kParts == b / kParts ? 20 : 10});
    }
  }
  std::vector<Device> devices = DevicesOf(kDevices * kParts - 1, links);
  for (uint32_t i = 0; i < devices.size(); ++i) devices[i].parent = std::to_string(i / kParts);

  const std::vector<uint32_t> chosen = Closest(ClosenessOf(devices), {}, kParts);

  ASSERT_EQ(chosen.size(), kParts);
  for (const uint32_t part : chosen) EXPECT_EQ(part / kParts, chosen[0] / kParts);
  EXPECT_NE(chosen[0] / kParts, kDevices - 1);
}

TEST(Closest, TakesThePairThatSharesTheMostLinks) {
  const Closeness closeness = ClosenessOf(DevicesOf(4, {{{0, 1}, 50}, {{1, 3}, 200}}));

  EXPECT_EQ(Closest(closeness, {}, 2), (Positions{1, 3}));
}

TEST(Closest, ASingleDeviceLeavesThePairsWhole) {
  const Closeness closeness =
      ClosenessOf(DevicesOf(5, {{{0, 1}, 200}, {{2, 4}, 200}, {{0, 3}, 10}}));

  EXPECT_EQ(Closest(closeness, {}, 1), (Positions{3}));
}

TEST(Closest, WhatIsIncludedStaysAndDrawsTheOthers) {
  const Closeness closeness = ClosenessOf(DevicesOf(4, {{{0, 1}, 200}, {{2, 3}, 50}}));

  EXPECT_EQ(Closest(closeness, Positions{2}, 2), (Positions{2, 3}));
  EXPECT_EQ(Closest(closeness, Positions{3}, 1), (Positions{3}));
  EXPECT_EQ(Closest(closeness, Positions{3, 0}, 4), (Positions{0, 1, 2, 3}));
}

TEST(Closest, OfEqualSetsTheFirstIsTaken) {
  const Closeness closeness = ClosenessOf(DevicesOf(4, {{{0, 1}, 50}, {{2, 3}, 50}}));

  EXPECT_EQ(Closest(closeness, {}, 2), (Positions{0, 1}));
}

TEST(Closest, SlicesOfOneGpuAreTakenUpBeforeAnotherIsBroken) {
  std::vector<Device> devices = DevicesOf(5, {});
  for (size_t i = 0; i < 5; ++i) devices[i].parent = i < 3 ? "GPU-a" : "GPU-b";
  const Closeness closeness = ClosenessOf(devices);

  EXPECT_EQ(Closest(closeness, {}, 1), (Positions{3}));
  EXPECT_EQ(Closest(closeness, {}, 2), (Positions{3, 4}));
  EXPECT_EQ(Closest(closeness, {}, 3), (Positions{0, 1, 2}));
}

TEST(Closest, NoOtherSetHasMorePointsNorLeavesMore) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    const size_t count = 2 + random() % 9;
    const Closeness closeness = ClosenessOf(RandomServer(random, count));
    const size_t wanted = 1 + random() % count;
    const Positions answer = Closest(closeness, {}, wanted);
    ASSERT_EQ(answer.size(), wanted) << seed;
    const auto points = [&](const Positions& set) {
      return std::pair(Inside(closeness, set), Inside(closeness, Rest(count, set)));
    };
    ForEachSet(All(count), wanted, [&](const Positions& set) {
      ASSERT_LE(points(set), points(answer)) << seed;
      if (points(set) == points(answer)) {
        ASSERT_LE(answer, set) << seed;
      }
    });
  }
}

// The choice of NVIDIA's plugin. It splits the devices into sets of the requested size, of which
// one may be short, with the most points overall. Of the full sets with the included devices it
// takes the one with the most points.
class Partitions {
 public:
  Partitions(const Closeness& closeness, size_t size, std::optional<uint32_t> included)
      : closeness_(closeness), size_(size), included_(included) {}

  int BestSet(size_t count) {
    Part(All(count), 0);
    return set_points_;
  }

 private:
  bool Fits(const Positions& set) const {
    return set.size() == size_ &&
           (!included_ || std::find(set.begin(), set.end(), *included_) != set.end());
  }

  void Part(const Positions& rest, int points) {
    if (rest.empty()) return Judge(points);
    if (rest.size() < size_) return With(rest, {}, points);
    WithFirst(rest, size_, points);
    // Alternatively the first device is in the short set.
    const size_t spare = rest.size() % size_;
    if (spare == 0 || short_taken_) return;
    short_taken_ = true;
    WithFirst(rest, spare, points);
    short_taken_ = false;
  }
  // Tries every set of this size with the first device of `rest`.
  void WithFirst(const Positions& rest, size_t size, int points) {
    const Positions others(rest.begin() + 1, rest.end());
    ForEachSet(others, size - 1, [&](const Positions& set) {
      Positions with = set;
      with.insert(with.begin(), rest[0]);
      Positions left;
      std::set_difference(rest.begin(), rest.end(), with.begin(), with.end(),
                          std::back_inserter(left));
      With(with, left, points);
    });
  }
  void With(const Positions& set, const Positions& rest, int points) {
    sets_.push_back(set);
    Part(rest, points + Inside(closeness_, set));
    sets_.pop_back();
  }
  void Judge(int points) {
    std::optional<int> best;
    for (const Positions& set : sets_) {
      if (Fits(set)) best = std::max(best.value_or(0), Inside(closeness_, set));
    }
    if (!best || points <= most_) return;
    most_ = points;
    set_points_ = *best;
  }

  const Closeness& closeness_;
  const size_t size_;
  const std::optional<uint32_t> included_;
  std::vector<Positions> sets_;
  bool short_taken_ = false;
  int most_ = -1;
  int set_points_ = 0;
};

TEST(Closest, IsAtLeastAsGoodAsTheSearchOfNvidiasPlugin) {
  int better = 0;
  for (unsigned seed = 0; seed < 1'000; ++seed) {
    std::mt19937 random(seed);
    const size_t count = 4 + seed % 7;
    const Closeness closeness = ClosenessOf(RandomServer(random, count));
    const size_t wanted = 2 + random() % (count - 2);
    std::optional<uint32_t> included;
    if (random() % 3 == 0) included = static_cast<uint32_t>(random() % count);
    Positions fixed;
    if (included) fixed.push_back(*included);

    const int ours = Inside(closeness, Closest(closeness, fixed, wanted));

    const int theirs = Partitions(closeness, wanted, included).BestSet(count);
    ASSERT_GE(ours, theirs) << seed;
    if (ours > theirs) ++better;
  }
  EXPECT_GT(better, 0);
}

TEST(Closest, FourteenAndSixteenDevicesAreSearchedToTheEnd) {
  for (const size_t count : {14U, 16U}) {
    std::mt19937 random(static_cast<unsigned>(count));
    const Closeness closeness = ClosenessOf(RandomServer(random, count));
    for (size_t wanted = 1; wanted <= count; ++wanted) {
      const Positions answer = Closest(closeness, {}, wanted);
      int most = -1;
      ForEachSet(All(count), wanted,
                 [&](const Positions& set) { most = std::max(most, Inside(closeness, set)); });
      ASSERT_EQ(answer.size(), wanted);
      ASSERT_EQ(Inside(closeness, answer), most) << count << " by " << wanted;
    }
  }
}

TEST(Closest, BeyondThatNoExchangeOfOneDeviceIsBetter) {
  std::mt19937 random(1);
  const Closeness closeness = ClosenessOf(RandomServer(random, 56));
  const Positions answer = Closest(closeness, Positions{7}, 12);

  ASSERT_EQ(answer.size(), 12U);
  EXPECT_TRUE(std::binary_search(answer.begin(), answer.end(), 7U));
  const int points = Inside(closeness, answer);
  for (size_t i = 0; i < answer.size(); ++i) {
    if (answer[i] == 7) continue;
    for (uint32_t other : Rest(56, answer)) {
      Positions exchanged = answer;
      exchanged[i] = other;
      EXPECT_LE(Inside(closeness, exchanged), points);
    }
  }
}

}  // namespace
}  // namespace tessera
