// SPDX-License-Identifier: Apache-2.0
// Devices that exclude each other, from their scan to the offer and the answers to Allocate.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "agent/parts_under_test.h"
#include "api/server.h"
#include "backend/fixture_kind_test.h"
#include "config/load.h"
#include "kinds/kinds.h"
#include "os/files.h"

namespace tessera::agent {
namespace {

const std::string kCard = "fixture.com/card";
const std::string kPart = "parts.com/part";

// Two served resources with the devices that the fixture's backends find.
class ServedRelationsTest : public testing::Test {
 protected:
  ServedRelationsTest() {
    EXPECT_TRUE(os::MakeDirectories(kubelet_.device_plugins()));
    parts_.saver.Restore("boot");
    const config::Config config = Configured("");
    parts_.grants.Open(config, kubelet_);
    parts_.resources.Open(config, kubelet::RegistrationPath::kKubeletSocket, kubelet_);
    AwaitOffered(kCard, "0 ");
    AwaitOffered(kPart, "0 1 ");
    node_.ledger().Reconcile({}, {kCard, kPart}, SystemClock().Now());
  }
  ~ServedRelationsTest() override {
    parts_.resources.Close();
    (void)os::RemoveTree(dir_);
  }

  // A configuration with this policy for the cards.
  config::Config Configured(const std::string& policy) {
    config::LoadResult loaded = config::Load(
        FullSchema(),
        {.file = config::Document::Parse(
             "t.yaml", "version: tessera/v1\nadvertise: {debounce: 10s}\nstate: {dir: " + dir_ +
                           "}\nresources:\n- {name: " + kCard + policy +
                           ", dummy: {count: 1}}\n- {name: " + kPart + ", dummy: {count: 2}}\n")});
    EXPECT_EQ(config::Text(loaded.errors), "");
    return std::move(loaded.config);
  }
  void Configure(const std::string& policy) { parts_.resources.Apply(Configured(policy)); }
  ServedResource& Resource(const std::string& name) { return *parts_.resources.Find(name); }
  // A scan that finds these cards, and the list after it.
  void Scan(const std::string& resource, const std::vector<FixtureCard>& cards) {
    FixtureBackend backend(resource, tree_.root());
    backend.cards = cards;
    parts_.reconciler.ScanEnded(Resource(resource),
                                Scanner::ScanResult{.devices = backend.Scan().value()}, false);
    parts_.reconciler.ListDue(Resource(resource));
  }
  std::string Offered(const std::string& resource) {
    const OfferPtr& offer = Resource(resource).offer();
    std::string ids;
    for (const Share& share : offer->shares) {
      if (offer->IsHealthy(share)) ids += share.id + " ";
    }
    return ids;
  }
  void AwaitOffered(const std::string& resource, const std::string& ids) {
    EXPECT_TRUE(fake::RunUntil(parts_.loop, Duration(20'000), [&] {
      return Offered(resource) == ids;
    })) << Offered(resource);
  }
  // Allocates as kubelet does; "" if granted.
  std::string Allocate(const std::string& resource, const std::string& id) {
    std::optional<Result<Grant>> answer;
    Resource(resource).offering().allocator().Allocate(
        {id}, [&](Result<Grant> grant) { answer = std::move(grant); });
    return *answer ? "" : answer->error().Text();
  }

  const FixtureTree tree_;
  const std::string dir_ = *os::MakeTemporaryDirectory(testing::TempDir() + "relations");
  const kubelet::Directories kubelet_{dir_ + "/kubelet"};
  Node node_{SystemClock(), {}};
  PartsUnderTest parts_{node_, dir_};
};

TEST_F(ServedRelationsTest, ADeviceThatHasLessRoomOffersFewerSharesAndStaysWell) {
  Configure(", policy: replicas, replicas: 4");
  AwaitOffered(kCard, "0::0 0::1 0::2 0::3 ");
  EXPECT_EQ(Allocate(kCard, "0::3"), "");

  Scan(kCard, {{.id = "0", .traits = {.shares = 2}}});

  EXPECT_EQ(Offered(kCard), "0::0 0::3 ");
  EXPECT_EQ(Resource(kCard).offer()->shares.size(), 4U);
  EXPECT_EQ(node_.TroubleOf(node_.inventory()->devices[0]), std::nullopt);
  EXPECT_EQ(Allocate(kCard, "0::1"),
            "fixture.com/card: id 0::1 is not offered now: device 0 has room for 2 shares "
            "[unhealthy-share]: delete the pod so that it is placed again; 'tessera explain' on "
            "the node says why the device is out");
  EXPECT_EQ(Allocate(kCard, "0::0"), "");

  Scan(kCard, {{.id = "0"}});
  EXPECT_EQ(Offered(kCard), "0::0 0::1 0::2 0::3 ");
}

class ServedExclusionTest : public ServedRelationsTest {
 protected:
  ServedExclusionTest() {
    Scan(kCard, {{.id = "0", .traits = {.takes = {"a", "b"}}}});
    Scan(kPart, {{.id = "0", .traits = {.takes = {"a"}}}, {.id = "1", .traits = {.takes = {"b"}}}});
    EXPECT_EQ(Offered(kCard), "0 ");
    EXPECT_EQ(Offered(kPart), "0 1 ");
  }
};

TEST_F(ServedExclusionTest, WhatOneResourceGrantsAnotherOffersNoMoreAtOnce) {
  EXPECT_EQ(Allocate(kCard, "0"), "");

  AwaitOffered(kPart, "");
  EXPECT_EQ(Offered(kCard), "0 ");
}

TEST_F(ServedExclusionTest, KubeletIsRefusedWhatItChoseBeforeItHeardOfThat) {
  EXPECT_EQ(Allocate(kPart, "1"), "");

  EXPECT_EQ(Allocate(kCard, "0"),
            "fixture.com/card: the requested hardware belongs to parts.com/part/1 too, which may "
            "be in use [excluded]: wait until the pods that hold the device named have ended, or "
            "end them; then it is offered by itself");
  AwaitOffered(kCard, "");
  EXPECT_EQ(Offered(kPart), "0 1 ");
}

// A list waits for the debounce; the table of exclusions does not.
TEST_F(ServedExclusionTest, ARivalThatAnOlderOfferDoesNotKnowIsRefusedAllTheSame) {
  Scan(kCard, {{.id = "0", .traits = {.takes = {"c"}}}});
  FixtureBackend found(kCard, tree_.root());
  found.cards = {{.id = "0", .traits = {.takes = {"a"}}}};
  (void)node_.UpdateDevices(kCard, found.Scan().value());
  EXPECT_EQ(Resource(kCard).offer()->devices[0].traits->takes, std::vector<std::string>{"c"});
  EXPECT_EQ(Allocate(kCard, "0"), "");

  EXPECT_EQ(Allocate(kPart, "0"),
            "parts.com/part: the requested hardware belongs to fixture.com/card/0 too, which may "
            "be in use [excluded]: wait until the pods that hold the device named have ended, or "
            "end them; then it is offered by itself");
}

TEST_F(ServedRelationsTest, ADeviceThatIsMadeOfOthersFallsWithThem) {
  Scan(kPart, {{.id = "0", .traits = {.takes = {"a"}}}, {.id = "1"}});
  Scan(kCard, {{.id = "0", .traits = {.takes = {"a"}, .parts = {{kPart, "0"}}}}});
  EXPECT_EQ(Offered(kCard), "0 ");

  parts_.reconciler.Observed(
      Resource(kPart),
      {{{kPart, "0"},
        {EvidenceKind::kFatal, EvidenceSource::kEvent, Reason::kFatalEvent, "on fire"}}});

  EXPECT_EQ(Offered(kPart), "1 ");
  EXPECT_EQ(Offered(kCard), "");
}

}  // namespace
}  // namespace tessera::agent
