// SPDX-License-Identifier: Apache-2.0
#include "report/node_reporter.h"

#include <gtest/gtest.h>

#include <csignal>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "api/server.h"
#include "base/captured_log_test.h"
#include "hami/vendor.h"
#include "hami/vendor_table.h"
#include "json/json.h"
#include "node/node_under_test.h"
#include "os/files.h"
#include "report/condition_record.h"
#include "report/registration_record.h"

namespace tessera {
namespace {

using Types = std::set<std::string>;

// The API thread may use these for a moment after the reporter's end.
os::Loop& TheLoop() {
  static os::Loop loop;
  return loop;
}
http::Metrics& TheMetrics() {
  static http::Metrics metrics;
  return metrics;
}

// An API server with one node, which stores its conditions.
class NodeReporterTest : public NodeUnderTest, public testing::Test {
 protected:
  NodeReporterTest() {
    std::signal(SIGPIPE, SIG_IGN);
    config_.state_dir = directory_;
    config_.api.kubeconfig = directory_ + "/kubeconfig";
    config_.api.node_name = "n1";
    const std::string text = fmt::format(
        "clusters: [{{name: c, cluster: {{server: 'http://127.0.0.1:{}'}}}}]\n"
        "contexts: [{{name: x, context: {{cluster: c}}}}]\ncurrent-context: x\n",
        server_.port());
    EXPECT_TRUE(os::ReplaceFile(config_.api.kubeconfig, text));
    node_.UpdateDevices(kSource, {Npu("0")});
    node_.Observe(kSource, {Good("0")});
  }
  ~NodeReporterTest() override {
    node_reporter_.reset();
    (void)os::RemoveTree(directory_);
  }

  // Replaces the agent by one with this configuration.
  void Restart(const std::string& condition) {
    config_.api.condition = condition;
    node_reporter_ = std::make_unique<NodeReporter>(
        TheLoop(), node_, TheMetrics(), [this] { return ++asked_ > 0 && silent_; }, [] {});
    node_reporter_->Open(config_, "machine");
    node_reporter_->StartReporting();
  }
  void Answer(const fake::Asked& asked, fake::Peer& peer) {
    if (asked.method == "POST") events_.push_back(json::Parse(asked.body).value());
    if (asked.method == "PATCH") Take(json::Parse(asked.body).value());
    json::Array all;
    for (const auto& [type, condition] : conditions_) all.push_back(condition);
    json::Object annotations;
    for (const auto& [key, value] : annotations_) annotations[key] = value;
    peer.Send(
        fake::Answer(200, json::Write(json::Object{
                              {"metadata", json::Object{{"annotations", std::move(annotations)}}},
                              {"status", json::Object{{"conditions", std::move(all)}}}})));
  }
  void Take(const json::Value& patch) {
    if (const json::Object* metadata = json::GetObject(patch.as_object(), "metadata")) {
      for (const auto& item : *json::GetObject(*metadata, "annotations")) {
        annotations_.erase(std::string(item.key()));
        if (item.value().is_string()) annotations_[item.key()] = item.value().get_string();
      }
      return;
    }
    const json::Object& status = *json::GetObject(patch.as_object(), "status");
    for (const json::Value& item : *json::GetArray(status, "conditions")) {
      const std::string type = json::GetString(item.as_object(), "type").value();
      if (item.as_object().contains("$patch")) {
        recorded_when_taken_ = Recorded();
        conditions_.erase(type);
      } else {
        conditions_[type] = item;
      }
    }
  }
  void Put(const std::string& type, const std::string& reason) {
    conditions_[type] = json::Object{{"type", type}, {"status", "True"}, {"reason", reason}};
  }
  // Configures virtual GPUs of requested sizes; the node has no GPU.
  void Configure(bool registered) {
    config::Resource resource;
    resource.name = "nvidia.com/gpu";
    FractionRules& fractions = resource.rendering.fractions.emplace();
    fractions.requests = hami::kNvidia.Requests();
    fractions.registration.emplace();
    config_.resources = {resource};
    if (!registered) config_.resources.clear();
  }
  std::string Registered() const {
    const auto found = annotations_.find("hami.io/node-nvidia-register");
    return found == annotations_.end() ? "" : found->second;
  }
  bool RunUntil(const std::function<bool()>& done) {
    const Steady end = SystemClock().Now() + Duration(30'000);
    while (!done() && SystemClock().Now() < end) {
      TheLoop().RunOnce();
      std::this_thread::yield();
    }
    return done();
  }
  bool RunUntilNodeHas(const Types& types) {
    return RunUntil([&] {
      Types present;
      for (const auto& [type, condition] : conditions_) present.insert(type);
      return present == types;
    });
  }
  Types Recorded() const { return RecordedConditions(directory_).value(); }

  const std::string directory_ = os::MakeTemporaryDirectory("/tmp/tessera-announcer-").value();
  std::map<std::string, json::Value> conditions_;
  std::map<std::string, std::string> annotations_;
  std::vector<json::Value> events_;
  fake::Server server_{TheLoop(),
                       [this](const fake::Asked& asked, fake::Peer& peer) { Answer(asked, peer); }};
  config::Config config_;
  bool silent_ = false;
  int asked_ = 0;              // calls of `silent`
  Types recorded_when_taken_;  // at the removal of the last condition
  CapturedLog log_;
  std::unique_ptr<NodeReporter> node_reporter_;
};

TEST_F(NodeReporterTest, AConditionOfAnotherNameIsTakenAwayAfterARestart) {
  Put("Ready", "KubeletReady");
  Restart("GPUUnhealthy");
  ASSERT_TRUE(RunUntilNodeHas({"GPUUnhealthy", "Ready"}));
  EXPECT_EQ(Recorded(), Types{"GPUUnhealthy"});

  Restart("DevicesUnhealthy");

  EXPECT_TRUE(RunUntilNodeHas({"DevicesUnhealthy", "Ready"}));
  EXPECT_EQ(recorded_when_taken_, (Types{"DevicesUnhealthy", "GPUUnhealthy"}));
  EXPECT_TRUE(RunUntil([&] { return Recorded() == Types{"DevicesUnhealthy"}; }));
}

TEST_F(NodeReporterTest, SoIsOneThatIsSwitchedOffAndThenItIsForgotten) {
  Restart("GPUUnhealthy");
  ASSERT_TRUE(RunUntilNodeHas({"GPUUnhealthy"}));
  Restart("off");
  ASSERT_TRUE(RunUntilNodeHas({}));

  Restart("off");

  EXPECT_TRUE(RunUntil([&] { return Recorded().empty(); }));
}

TEST_F(NodeReporterTest, OneThatSomebodyElseHasPutThereByThatNameStays) {
  Restart("GPUUnhealthy");
  ASSERT_TRUE(RunUntilNodeHas({"GPUUnhealthy"}));
  Put("GPUUnhealthy", "FanStopped");

  Restart("off");

  EXPECT_TRUE(RunUntil([&] { return Recorded().empty(); }));
  EXPECT_TRUE(RunUntilNodeHas({"GPUUnhealthy"}));
}

TEST_F(NodeReporterTest, AnInstanceThatIsSilentTakesNothingAwayUntilItTells) {
  Restart("GPUUnhealthy");
  ASSERT_TRUE(RunUntilNodeHas({"GPUUnhealthy"}));
  silent_ = true;
  Restart("DevicesUnhealthy");
  asked_ = 0;
  ASSERT_TRUE(RunUntil([&] { return asked_ > 0; }));
  EXPECT_EQ(Recorded(), Types{"GPUUnhealthy"});

  silent_ = false;
  node_reporter_->Changed();

  EXPECT_TRUE(RunUntilNodeHas({"DevicesUnhealthy"}));
}

TEST_F(NodeReporterTest, ThatNothingOfAResourceCanBeGrantedIsAnEventOfTheNodeOnce) {
  config_.api.events = true;
  const Error why{Reason::kNotEnforced, "the library is not there"};
  node_.SetObstacle(kSource, why);
  Restart("off");
  ASSERT_TRUE(RunUntil([&] { return !events_.empty(); }));
  const json::Object& event = events_[0].as_object();
  EXPECT_EQ(json::GetString(event, "reason"), "VirtualGPUsUnavailable");
  EXPECT_EQ(json::GetString(event, "message"), std::string(kSource) + ": " + why.Text());

  node_reporter_->Changed();
  node_.SetObstacle(kSource, Error{Reason::kPermission, "others may write there"});
  node_reporter_->Changed();
  ASSERT_TRUE(RunUntil([&] { return events_.size() > 1; }));
  EXPECT_EQ(json::GetString(events_[1].as_object(), "message"),
            std::string(kSource) + ": " + node_.obstacles().at(kSource).Text());
}

TEST_F(NodeReporterTest, HamisSchedulerIsToldOfTheNodeAndOfEachOtherConfiguration) {
  Configure(true);
  Restart("off");
  ASSERT_TRUE(RunUntil([&] { return Registered() == "[]"; }));

  Configure(false);
  node_reporter_->Apply(config_);

  EXPECT_TRUE(RunUntil([&] { return annotations_.empty(); }));
  EXPECT_TRUE(RunUntil([&] { return RecordedRegistrations(directory_)->empty(); }));
}

TEST_F(NodeReporterTest, WhatHamisSchedulerWasToldOfAFormerModelIsTakenAwayOnce) {
  Configure(true);
  Restart("off");
  ASSERT_TRUE(RunUntil([&] { return Registered() == "[]"; }));
  const hami::Vendor& npu = *hami::AscendRow("Ascend910B3")->vendor;
  config_.resources[0].rendering.fractions->requests = npu.Requests();

  Restart("off");

  EXPECT_TRUE(
      RunUntil([&] { return RecordedRegistrations(directory_).value() == Types{"Ascend910B3"}; }));
  EXPECT_EQ(annotations_.count("hami.io/node-nvidia-register"), 0U);
  EXPECT_EQ(annotations_.at("hami.io/node-register-Ascend910B3"), "[]");
}

TEST_F(NodeReporterTest, WhatAnotherPluginToldOfItsModelStays) {
  annotations_["hami.io/node-amd-register"] = "another plugin's";
  Configure(true);
  Restart("off");
  ASSERT_TRUE(RunUntil([&] { return Registered() == "[]"; }));
  Configure(false);

  Restart("off");

  EXPECT_TRUE(RunUntil([&] { return RecordedRegistrations(directory_)->empty(); }));
  EXPECT_EQ(
      annotations_,
      (std::map<std::string, std::string>{{"hami.io/node-amd-register", "another plugin's"}}));
}

TEST_F(NodeReporterTest, WhatItWasToldIsTakenAwayAfterARestartThatNoLongerWantsIt) {
  Configure(true);
  Restart("off");
  ASSERT_TRUE(RunUntil([&] { return Registered() == "[]"; }));
  Configure(false);

  Restart("off");

  EXPECT_TRUE(RunUntil([&] { return annotations_.empty(); }));
}

TEST_F(NodeReporterTest, GpusWithOtherLinksOneWayThanTheOtherAreAnEventOfTheNodeOnce) {
  Configure(true);
  config_.resources[0].rendering.fractions->registration->link_scores = true;
  std::vector<Device> gpus(2);
  for (size_t i = 0; i < 2; ++i) {
    gpus[i].key = {"nvidia.com/gpu", i == 0 ? "GPU-a" : "GPU-b"};
    gpus[i].memory = 1000;
  }
  gpus[0].links = {{"GPU-b", 120}};
  gpus[1].links = {{"GPU-a", 20}};
  node_.UpdateDevices("nvidia.com/gpu", gpus);
  Restart("off");
  ASSERT_TRUE(RunUntil([&] { return !events_.empty(); }));

  gpus[0].memory = 2000;
  const std::string before = Registered();
  node_.UpdateDevices("nvidia.com/gpu", gpus);
  node_reporter_->Changed();
  ASSERT_TRUE(RunUntil([&] { return Registered() != before; }));

  ASSERT_EQ(events_.size(), 1U);
  const json::Object& event = events_[0].as_object();
  EXPECT_EQ(json::GetString(event, "reason"), "AsymmetricGPUP2PLink");
  EXPECT_EQ(json::GetString(event, "message"),
            "GPU-a and GPU-b have different links in each direction; the agent tells HAMi's "
            "scheduler that they are not close");
}

TEST_F(NodeReporterTest, TheRegistrationOfAnotherPluginStays) {
  annotations_["hami.io/node-nvidia-register"] = "its own";
  Configure(false);

  Restart("DevicesUnhealthy");

  EXPECT_TRUE(RunUntilNodeHas({"DevicesUnhealthy"}));
  EXPECT_EQ(Registered(), "its own");
}

TEST_F(NodeReporterTest, AnInstanceThatIsSilentRegistersNothing) {
  Configure(true);
  silent_ = true;
  Restart("off");
  ASSERT_TRUE(RunUntil([&] { return asked_ > 0; }));
  EXPECT_EQ(Registered(), "");

  silent_ = false;
  node_reporter_->Changed();

  EXPECT_TRUE(RunUntil([&] { return Registered() == "[]"; }));
}

}  // namespace
}  // namespace tessera
