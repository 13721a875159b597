// SPDX-License-Identifier: Apache-2.0
// Laws that hold for every request, tested on random ones. The seeds are fixed, so a failure can be
// repeated by its seed.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "base/text.h"
#include "choose/choose.h"

namespace tessera {
namespace {

constexpr char kResource[] = "dummy.com/npu";

using Ids = std::vector<std::string>;

struct Case {
  Offer offer;
  Ids available;
  Ids must_include;
  int size = 0;
  Placement placement = Placement::kSpread;

  Ids Answer() const { return Choose(offer, {available, must_include, size, placement}); }
};

Offer RandomOffer(std::mt19937& random) {
  Inventory inventory;
  const auto devices = 1 + random() % 12;
  const auto kinds = 1 + random() % 4;
  const bool linked = random() % 3 == 0;
  for (size_t i = 0; i < devices; ++i) {
    Device device;
    device.key = {kResource, std::to_string(i)};
    if (const auto kind = random() % kinds; kind > 0) device.numa_nodes = {static_cast<int>(kind)};
    if (random() % 5 == 0) device.numa_nodes = {1, 2};
    if (linked) {
      device.links = {{std::to_string(random() % devices), 100},
                      {std::to_string(random() % devices), 10}};
    }
    inventory.devices.push_back(device);
  }
  const int replicas = 1 + static_cast<int>(random() % 4);
  const Policy policy{replicas == 1 ? Division::kWhole : Division::kReplicas, replicas};
  return Divide(kResource, {policy}, inventory, kResource,
                [](const Device&) -> std::optional<Error> { return std::nullopt; });
}

Case RandomCase(unsigned seed) {
  std::mt19937 random(seed);
  Case made;
  made.offer = RandomOffer(random);
  for (const Share& share : made.offer.shares) {
    if (random() % 4 == 0) continue;
    made.available.push_back(share.id);
    if (random() % 8 == 0) made.must_include.push_back(share.id);
  }
  std::shuffle(made.available.begin(), made.available.end(), random);
  std::shuffle(made.must_include.begin(), made.must_include.end(), random);
  made.size = static_cast<int>(random() % (made.available.size() + 3));
  made.placement = random() % 2 == 0 ? Placement::kSpread : Placement::kPack;
  return made;
}

constexpr unsigned kSeeds = 1'000;

TEST(ChooseLaws, TheAnswerHasTheSizeAskedForOrAllThereIs) {
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    const Case made = RandomCase(seed);
    const auto size = static_cast<size_t>(made.size);
    ASSERT_EQ(made.Answer().size(), std::min(size, made.available.size())) << seed;
  }
}

TEST(ChooseLaws, TheAnswerIsPartOfWhatIsAvailableAndNamesNothingTwice) {
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    const Case made = RandomCase(seed);
    const std::set<std::string> available(made.available.begin(), made.available.end());
    std::set<std::string> named;
    for (const std::string& id : made.Answer()) {
      ASSERT_TRUE(available.contains(id)) << seed << " " << id;
      ASSERT_TRUE(named.insert(id).second) << seed << " " << id;
    }
  }
}

TEST(ChooseLaws, MustIncludeComesFirst) {
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    const Case made = RandomCase(seed);
    Ids expected = made.must_include;
    std::sort(expected.begin(), expected.end(), NaturalLess());
    Ids answer = made.Answer();
    const size_t both = std::min(expected.size(), answer.size());
    expected.resize(both);
    answer.resize(both);
    ASSERT_EQ(answer, expected) << seed;
  }
}

TEST(ChooseLaws, TheOrderOfTheQuestionDoesNotMatter) {
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    Case made = RandomCase(seed);
    const Ids answer = made.Answer();
    std::mt19937 random(seed + 1);
    std::shuffle(made.available.begin(), made.available.end(), random);
    std::shuffle(made.must_include.begin(), made.must_include.end(), random);
    ASSERT_EQ(made.Answer(), answer) << seed;
  }
}

// The nodes of devices near to one node each; -1: no node.
std::set<int> NodesOf(const Offer& offer, const Ids& ids) {
  std::set<int> nodes;
  for (const std::string& id : ids) {
    const Device& device = offer.devices[offer.shares.Find(id)->device];
    nodes.insert(device.numa_nodes.empty() ? -1 : device.numa_nodes.front());
  }
  return nodes;
}

bool HasDeviceOnTwoNodes(const Offer& offer) {
  return std::any_of(offer.devices.begin(), offer.devices.end(),
                     [](const Device& device) { return device.numa_nodes.size() > 1; });
}

// The fewest nodes that any choice needs, by exhaustive search.
size_t FewestNodes(const Case& made) {
  const std::set<int> all = NodesOf(made.offer, made.available);
  const std::set<int> given = NodesOf(made.offer, made.must_include);
  const Ids answer = made.Answer();
  size_t fewest = all.size();
  const std::vector<int> nodes(all.begin(), all.end());
  for (unsigned bits = 0; bits < (1U << nodes.size()); ++bits) {
    std::set<int> used = given;
    for (size_t i = 0; i < nodes.size(); ++i) {
      if ((bits >> i & 1U) != 0) used.insert(nodes[i]);
    }
    const auto room = std::count_if(
        made.available.begin(), made.available.end(),
        [&](const auto& id) { return used.contains(*NodesOf(made.offer, {id}).begin()); });
    if (static_cast<size_t>(room) >= answer.size()) fewest = std::min(fewest, used.size());
  }
  return fewest;
}

TEST(ChooseLaws, NoChoiceDoesWithFewerNodes) {
  int tried = 0;
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    const Case made = RandomCase(seed);
    const Ids answer = made.Answer();
    const bool linked = !made.offer.devices[0].links.empty();  // then links decide, not nodes
    if (linked || HasDeviceOnTwoNodes(made.offer)) continue;
    if (answer.size() < made.must_include.size()) continue;
    ++tried;
    ASSERT_EQ(NodesOf(made.offer, answer).size(), FewestNodes(made)) << seed;
  }
  EXPECT_GT(tried, 100);
}

TEST(ChooseLaws, SixtyThousandIdsAreChosenFromAtOnce) {
  Inventory inventory;
  for (int i = 0; i < 1'000; ++i) {
    Device device;
    device.key = {kResource, std::to_string(i)};
    device.numa_nodes = {i % 8};
    inventory.devices.push_back(device);
  }
  Case made;
  made.offer = Divide(kResource, {{Division::kReplicas, 60}}, inventory, kResource,
                      [](const Device&) -> std::optional<Error> { return std::nullopt; });
  for (const Share& share : made.offer.shares) made.available.push_back(share.id);
  std::shuffle(made.available.begin(), made.available.end(), std::mt19937(1));

  made.size = 8;
  EXPECT_EQ(made.Answer().size(), 8U);
  made.size = 60'000;
  EXPECT_EQ(made.Answer().size(), 60'000U);
}

}  // namespace
}  // namespace tessera
