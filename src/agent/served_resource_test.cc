// SPDX-License-Identifier: Apache-2.0
#include "agent/served_resource.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "agent/parts_under_test.h"
#include "api/server.h"
#include "config/load.h"
#include "kinds/kinds.h"
#include "os/files.h"

namespace tessera::agent {
namespace {

const std::string kServed = "dummy.com/npu";

// A resource whose events reach only the node. The test publishes the lists.
class ServedResourceTest : public testing::Test, public ResourceEvents {
 protected:
  ServedResourceTest() {
    EXPECT_TRUE(os::MakeDirectories(kubelet_.device_plugins()));
    Configure("{count: 2}");
    resource_ = std::make_unique<ServedResource>(
        ServedResource::Surroundings{.loop = loop_,
                                     .workers = workers_,
                                     .metrics = metrics_,
                                     .node = node_,
                                     .cdi = cdi_,
                                     .events = *this,
                                     .observer = observer_,
                                     .context = std::make_shared<BindContext>(),
                                     .preparations = preparations_,
                                     .found = found_},
        nullptr, config_, config_.resources[0], kubelet::RegistrationPath::kKubeletSocket,
        kubelet_);
  }
  ~ServedResourceTest() override {
    resource_.reset();
    (void)os::RemoveTree(dir_);
  }

  void ScanEnded(ServedResource& resource, Result<Scanner::ScanResult> found,
                 bool awaited) override {
    told_ += awaited ? "scan-awaited " : "scan ";
    if (found) node_.UpdateDevices(kServed, std::move(found->devices));
    resource.CheckDevices();
  }
  void Observed(ServedResource&, const std::vector<Observation>& seen) override {
    node_.Observe(kServed, seen);
  }
  void Unverified(ServedResource&, const Error& why) override {
    told_ += std::string(ReasonName(why.reason)) + " ";
  }
  void ObstacleSeen(ServedResource&, std::optional<Error>) override {}
  void ExclusiveGranted(ServedResource&) override { told_ += "exclusive "; }
  void ListDue(ServedResource&) override { told_ += "due "; }
  void Configure(const std::string& npu, const std::string& kind = "dummy") {
    config::LoadResult loaded = config::Load(
        FullSchema(),
        {.file = config::Document::Parse(
             "t.yaml", "version: tessera/v1\nadvertise: {debounce: 1ms}\nstate: {dir: " + dir_ +
                           "}\nresources:\n- {name: " + kServed + ", " + kind + ": " + npu +
                           "}\n")});
    EXPECT_EQ(config::Text(loaded.errors), "");
    config_ = loaded.config;
  }
  void RunUntil(const std::function<bool()>& is) {
    EXPECT_TRUE(fake::RunUntil(loop_, Duration(20'000), is)) << "told: " << told_;
  }
  bool WasTold(const std::string& what) const { return told_.find(what) != std::string::npos; }
  void Publish() {
    std::optional<Draft> draft = resource_->Divide();
    ASSERT_TRUE(draft);
    resource_->Publish(*std::move(draft));
  }
  // Until its first list may go out. That is sent without the checks, if they take long.
  void AwaitChecks() {
    RunUntil([this] { return node_.Verified(kServed) && !resource_->IsPremature(); });
  }
  void StartAndPublish() {
    resource_->Start();
    AwaitChecks();
    Publish();
  }

  const std::string dir_ = *os::MakeTemporaryDirectory(testing::TempDir() + "served");
  const kubelet::Directories kubelet_{dir_ + "/kubelet"};
  os::Loop loop_;
  os::Workers workers_{4};
  http::Metrics metrics_;
  Node node_{SystemClock(), {}};
  CdiDocuments cdi_{metrics_, os::Root("")};
  config::Config config_;
  const std::shared_ptr<Preparations> preparations_ =
      std::make_shared<Preparations>(dir_, os::Root(), [] {});
  const std::shared_ptr<FoundDevices> found_ = std::make_shared<FoundDevices>();
  std::string told_;
  SilentPluginObserver observer_;
  std::unique_ptr<ServedResource> resource_;
};

TEST_F(ServedResourceTest, ItsFirstListIsPrematureUntilItsDevicesAreFoundAndChecked) {
  EXPECT_TRUE(resource_->IsPremature());
  resource_->Start();
  RunUntil([this] { return WasTold("scan"); });
  EXPECT_TRUE(WasTold("scan-awaited")) << told_;

  AwaitChecks();

  EXPECT_TRUE(resource_->ready());
}

TEST_F(ServedResourceTest, TheFirstListWaitsForNoDebounce) {
  resource_->Start();

  EXPECT_EQ(resource_->DueAfter(Urgency::kCanWait), Urgency::kCanWait);
  EXPECT_FALSE(resource_->WaitsToPublish());
}

TEST_F(ServedResourceTest, OnceThereIsAListGoodNewsWaitsForTheDebounce) {
  StartAndPublish();
  told_.clear();

  EXPECT_EQ(resource_->DueAfter(Urgency::kCanWait), std::nullopt);

  EXPECT_TRUE(resource_->WaitsToPublish());
  RunUntil([this] { return WasTold("due"); });
  EXPECT_FALSE(resource_->WaitsToPublish());
}

TEST_F(ServedResourceTest, OfBadNewsWithinADebounceTheFirstGoesAtOnce) {
  StartAndPublish();

  EXPECT_EQ(resource_->DueAfter(Urgency::kCanWait), std::nullopt);
  EXPECT_EQ(resource_->DueAfter(Urgency::kAtOnce), Urgency::kAtOnce);
  EXPECT_EQ(resource_->DueAfter(Urgency::kAtOnce), std::nullopt);
}

TEST_F(ServedResourceTest, AnotherKindsListIsPrematureUntilItsFirstScan) {
  StartAndPublish();
  RunUntil([this] { return WasTold("scan"); });
  told_.clear();
  Configure("{groups: [{paths: [{path: /dev/null}]}]}", "files");

  resource_->Apply(config_, config_.resources[0]);

  EXPECT_TRUE(resource_->IsPremature());
  RunUntil([this] { return WasTold("scan-awaited"); });
  EXPECT_FALSE(resource_->IsPremature());
  EXPECT_TRUE(resource_->offering().published());
}

TEST_F(ServedResourceTest, AnotherPolicyOfTheSameKindIsDueAtOnce) {
  StartAndPublish();
  told_.clear();
  Configure("{count: 3}");

  resource_->Apply(config_, config_.resources[0]);

  EXPECT_TRUE(WasTold("due")) << told_;
}

TEST_F(ServedResourceTest, OtherKindsSeeADeviceAsWholeUntilNobodyHoldsItWhole) {
  StartAndPublish();
  node_.ledger().inbox()->Put(kServed, {"0"}, SystemClock().Now());
  node_.ledger().Reconcile({}, {kServed}, SystemClock().Now());
  EXPECT_EQ(found_->Of(kServed)->terms.shares, 1);

  Configure("{count: 2}, policy: replicas, replicas: 3");
  resource_->Apply(config_, config_.resources[0]);

  EXPECT_EQ(found_->Of(kServed)->terms.shares, 3);
  EXPECT_EQ(found_->Of(kServed)->terms.whole, (std::set<std::string, std::less<>>{"0"}));

  node_.ledger().inbox()->Forget(SystemClock().Now() + Duration(1));
  Publish();

  EXPECT_EQ(found_->Of(kServed)->terms.whole, (std::set<std::string, std::less<>>{}));
}

// Its share's id is "a%25b".
TEST_F(ServedResourceTest, ADeviceThatIsHeldWholeIsSeenSoWhateverItsIdIs) {
  ASSERT_TRUE(os::ReplaceFile(dir_ + "/a%b", ""));
  const std::string files = "{groups: [{paths: [{path: " + dir_ + "/a%b, mount: true}]}]}";
  Configure(files, "files");
  resource_->Apply(config_, config_.resources[0]);
  StartAndPublish();
  node_.ledger().inbox()->Put(kServed, {"a%25b"}, SystemClock().Now());
  node_.ledger().Reconcile({}, {kServed}, SystemClock().Now());

  Configure(files + ", policy: replicas, replicas: 3", "files");
  resource_->Apply(config_, config_.resources[0]);

  EXPECT_EQ(found_->Of(kServed)->terms.whole, (std::set<std::string, std::less<>>{"a%b"}));
}

TEST_F(ServedResourceTest, ABackendWithoutALibraryLetsGoOfNone) {
  StartAndPublish();
  told_.clear();

  resource_->SetReleased(Error{Reason::kReleased, "by order"});

  EXPECT_EQ(resource_->released(), std::nullopt);
  EXPECT_FALSE(WasTold("released")) << told_;
}

}  // namespace
}  // namespace tessera::agent
