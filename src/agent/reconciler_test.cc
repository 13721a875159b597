// SPDX-License-Identifier: Apache-2.0
// The agent's parts on a node of dummy NPUs, without a kubelet; the offer stands for kubelet's
// list.
#include "agent/reconciler.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "agent/parts_under_test.h"
#include "api/server.h"
#include "config/load.h"
#include "kinds/kinds.h"
#include "os/files.h"

namespace tessera::agent {
namespace {

const std::string kNpu = "dummy.com/npu";

class ReconcilerTest : public testing::Test {
 protected:
  ReconcilerTest() { EXPECT_TRUE(os::MakeDirectories(kubelet_.device_plugins())); }
  ~ReconcilerTest() override {
    resources_.Close();
    (void)os::RemoveTree(dir_);
  }

  config::Config Configured(const std::string& resources) {
    config::LoadResult loaded = config::Load(
        FullSchema(),
        {.file = config::Document::Parse(
             "t.yaml", "version: tessera/v1\nadvertise: {debounce: 10s}\nstate: {dir: " + dir_ +
                           "}\n" + resources)});
    EXPECT_EQ(config::Text(loaded.errors), "");
    return loaded.config;
  }
  // Serves two NPUs until both are offered.
  void Serve() {
    saver_.Restore("boot");
    const config::Config config =
        Configured("resources:\n- {name: " + kNpu + ", dummy: {count: 2}}\n");
    parts_.grants.Open(config, kubelet_);
    resources_.Open(config, kubelet::RegistrationPath::kKubeletSocket, kubelet_);
    EXPECT_TRUE(fake::RunUntil(parts_.loop, Duration(20'000), [this] {
      return Offered() == "0 1 ";
    })) << Offered();
  }
  ServedResource& Npus() { return *resources_.Find(kNpu); }
  // The ids that are offered as healthy.
  std::string Offered() {
    std::string ids;
    for (const Share& share : Npus().offer()->shares) {
      if (Npus().offer()->IsHealthy(share)) ids += share.id + " ";
    }
    return ids;
  }
  static Observation Sick(const std::string& id) {
    return {{kNpu, id},
            {EvidenceKind::kFatal, EvidenceSource::kEvent, Reason::kFatalEvent, "on fire"}};
  }
  // The falls that the next start would read.
  std::string SavedFalls() {
    std::string ids;
    for (const auto& [key, verdict] : StateStore(dir_).LoadVerdicts("boot")) {
      if (!verdict.offered()) ids += key.id + " ";
    }
    return ids;
  }

  const std::string dir_ = *os::MakeTemporaryDirectory(testing::TempDir() + "reconciler");
  const kubelet::Directories kubelet_{dir_ + "/kubelet"};
  Node node_{SystemClock(), {}};
  PartsUnderTest parts_{node_, dir_};
  StateSaver& saver_ = parts_.saver;
  ResourceSet& resources_ = parts_.resources;
  Reconciler& reconciler_ = parts_.reconciler;
};

TEST_F(ReconcilerTest, TheFirstListHasWhatWasFoundAndChecked) {
  Serve();

  EXPECT_EQ(Offered(), "0 1 ");
  EXPECT_TRUE(reconciler_.announced());
  EXPECT_EQ(parts_.came_or_went, 1);
}

TEST_F(ReconcilerTest, BadNewsIsOfferedAndSavedAtOnce) {
  Serve();

  reconciler_.Observed(Npus(), {Sick("1")});

  EXPECT_EQ(Offered(), "0 ");
  EXPECT_EQ(SavedFalls(), "1 ");
}

TEST_F(ReconcilerTest, FurtherBadNewsOfOneWindowIsSavedAtOnceAndOfferedAtItsEnd) {
  Serve();
  reconciler_.Observed(Npus(), {Sick("1")});

  reconciler_.Observed(Npus(), {Sick("0")});

  EXPECT_EQ(Offered(), "0 ");
  EXPECT_TRUE(Npus().WaitsToPublish());
  EXPECT_EQ(SavedFalls(), "0 1 ");
  reconciler_.ListDue(Npus());
  EXPECT_EQ(Offered(), "");
}

TEST_F(ReconcilerTest, AnOrderOfAPersonIsOfferedAndSavedBeforeItIsAnswered) {
  Serve();

  EXPECT_EQ(reconciler_.Cordon("0", "loud").value(), (DeviceKey{kNpu, "0"}));

  EXPECT_EQ(Offered(), "1 ");
  EXPECT_EQ(StateStore(dir_).LoadFacts()->cordons, node_.cordons());
  EXPECT_EQ(reconciler_.Uncordon("9").error(), (Error{Reason::kNotFound, "there is no device 9"}));
}

TEST_F(ReconcilerTest, WhatCannotBeGrantedIsNotOffered) {
  Serve();

  reconciler_.ObstacleSeen(Npus(), Error{Reason::kNotEnforced, "there is no library"});

  EXPECT_EQ(Offered(), "");
  EXPECT_EQ(node_.TroubleOf(node_.inventory()->devices[0]),
            (Error{Reason::kNotEnforced, "there is no library"}));
}

TEST_F(ReconcilerTest, AScanThatFailsChangesNothing) {
  Serve();

  reconciler_.ScanEnded(Npus(), Fail(Reason::kDriverMissing, "there is no driver"), false);

  EXPECT_EQ(Offered(), "0 1 ");
}

TEST_F(ReconcilerTest, ADeviceThatVanishesIsOfferedAsUnhealthy) {
  Serve();
  const Device& kept = node_.inventory()->devices[0];

  reconciler_.ScanEnded(Npus(), Scanner::ScanResult{.devices = {kept}}, false);

  EXPECT_EQ(Offered(), "0 ");
  EXPECT_EQ(Npus().offer()->shares.size(), 2U);
}

TEST_F(ReconcilerTest, SharesOfAnotherPlanAreSavedBeforeTheyAreOffered) {
  Serve();
  node_.ledger().Reconcile({}, {kNpu}, SystemClock().Now());
  const config::Config config = Configured("resources:\n- {name: " + kNpu +
                                           ", policy: replicas, replicas: 2, dummy: {count: 2}}\n");

  resources_.Apply(config);

  EXPECT_EQ(Offered(), "0::0 0::1 1::0 1::1 ");
  EXPECT_EQ(StateStore(dir_).LoadFacts()->plans, node_.plans());
}

}  // namespace
}  // namespace tessera::agent
