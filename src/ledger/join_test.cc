// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ledger/ledger.h"

namespace tessera {
namespace {

using Ids = std::vector<std::string>;
using Holdings = std::vector<Holding>;

Holding FromPodResources(const std::string& pod, const std::string& container, const Ids& ids) {
  return {"default", pod, "", container, "dummy.com/npu", ids};
}
Holding FromCheckpoint(const std::string& uid, const std::string& container, const Ids& ids) {
  return {"", "", uid, container, "dummy.com/npu", ids};
}

TEST(Join, ACheckpointEntryAddsItsUid) {
  EXPECT_EQ(Join({FromPodResources("a", "main", {"1"})}, {FromCheckpoint("u1", "main", {"1"})}),
            (Holdings{{"default", "a", "u1", "main", "dummy.com/npu", {"1"}}}));
}

TEST(Join, AnInitContainerStandsForItself) {
  EXPECT_EQ(Join({FromPodResources("a", "main", {"1"})},
                 {FromCheckpoint("u1", "init", {"1"}), FromCheckpoint("u1", "main", {"1"})}),
            (Holdings{{"default", "a", "u1", "main", "dummy.com/npu", {"1"}},
                      FromCheckpoint("u1", "init", {"1"})}));
}

TEST(Join, WithoutACheckpointNamesStay) {
  EXPECT_EQ(Join({FromPodResources("a", "main", {"1"})}, {}),
            Holdings{FromPodResources("a", "main", {"1"})});
}

TEST(Join, WithoutPodResourcesUidsStay) {
  EXPECT_EQ(Join({}, {FromCheckpoint("u1", "main", {"1"})}),
            Holdings{FromCheckpoint("u1", "main", {"1"})});
}

TEST(Join, EntriesOfOneContainerArePutTogether) {
  const Holdings entries = {FromPodResources("a", "main", {"10"}),
                            FromPodResources("a", "main", {"2"}),
                            FromPodResources("a", "main", {"1"})};

  EXPECT_EQ(Join(entries, {FromCheckpoint("u1", "main", {"2", "1", "10"})}),
            (Holdings{{"default", "a", "u1", "main", "dummy.com/npu", {"1", "2", "10"}}}));
}

TEST(Join, OtherIdsAreAnotherHolding) {
  EXPECT_EQ(Join({FromPodResources("a", "main", {"1"})}, {FromCheckpoint("u1", "main", {"2"})}),
            (Holdings{FromPodResources("a", "main", {"1"}), FromCheckpoint("u1", "main", {"2"})}));
}

TEST(Join, SeveralMatchesAreNotGuessedBetween) {
  EXPECT_EQ(Join({FromPodResources("a", "main", {"1"})},
                 {FromCheckpoint("u1", "main", {"1"}), FromCheckpoint("u2", "main", {"1"})}),
            (Holdings{FromPodResources("a", "main", {"1"}), FromCheckpoint("u1", "main", {"1"}),
                      FromCheckpoint("u2", "main", {"1"})}));
}

}  // namespace
}  // namespace tessera
