// SPDX-License-Identifier: Apache-2.0
#include "agent/routes.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "agent/parts_under_test.h"
#include "node/node_under_test.h"
#include "os/files.h"

namespace tessera::agent {
namespace {

// The response as one line.
std::string Line(const http::Response& response) {
  return fmt::format("{} {}", response.status, response.body);
}

std::string Refusal(const http::Response& response) {
  const Error error = http::FailureIn(response);
  return fmt::format("{} {}: {}", response.status, ReasonName(error.reason), error.message);
}

const std::string kOfNpu = Line(http::Json(json::Object{{"device", "dummy.com/npu/0"}}));

// A node with one device, NPU 0, and a ready agent.
class RoutesTest : public testing::Test {
 protected:
  RoutesTest() { node_.node_.UpdateDevices(kSource, {Npu("0")}); }
  ~RoutesTest() override { (void)os::RemoveTree(directory_); }

  RouteSources Sources() {
    return {.view =
                [this] {
                  return View{.node = node_.node_,
                              .resources = parts_.resources.served(),
                              .cdi = parts_.cdi,
                              .ledger_error = ledger_error_,
                              .node_name = "worker-1"};
                },
            .pods =
                [this] {
                  return PodFacts{.node = "worker-1",
                                  .ledger = node_.node_.ledger(),
                                  .context = *parts_.context};
                },
            .node = node_.node_,
            .reconciler = parts_.reconciler,
            .release = release_,
            .metrics = metrics_,
            .refresh_metrics = [this] { metrics_.Set(http::Metric::kReleased, {}, 1); },
            .not_ready = [this] { return not_ready_; },
            .faults = [this] { return faults_; },
            .may_save = [this] { return may_save_; },
            .save = [this] { return ++saves_, saved_; }};
  }
  http::Response Get(const std::string& path, std::map<std::string, std::string> query = {}) {
    return read_({.method = "GET", .path = path, .query = std::move(query), .body = ""});
  }
  http::Response Post(const std::string& path, const std::string& body) {
    return control_({.method = "POST", .path = path, .query = {}, .body = body});
  }
  std::string TroubleOfNpu() { return node_.Trouble("0")->message; }

  const std::string directory_ = *os::MakeTemporaryDirectory(testing::TempDir() + "routes");
  NodeUnderTest node_;
  PartsUnderTest parts_{node_.node_, directory_};
  http::Metrics& metrics_ = parts_.metrics;
  std::optional<Error> ledger_error_;
  std::optional<Error> released_;
  Release release_{parts_.loop,
                   {.set_released = [this](auto order) { released_ = std::move(order); },
                    .released = [] { return std::vector<std::string>{"nvidia.com/gpu"}; },
                    .held_by = [] { return std::vector<std::string>(); }},
                   directory_ + "/release.jsonl"};
  std::string not_ready_;
  Faults faults_;
  Status may_save_;
  Status saved_;
  int saves_ = 0;
  const http::Handler read_ = ReadRoutes(Sources());
  const http::Handler control_ = ControlRoutes(Sources());
};

TEST_F(RoutesTest, AnAgentThatIsWellIsAliveAndReady) {
  EXPECT_EQ(Line(Get("/healthz")), "200 ok\n");
  EXPECT_EQ(Line(Get("/readyz")), "200 ok\n");
}

TEST_F(RoutesTest, WhatIsMissingKeepsItFromBeingReadyButNotAlive) {
  not_ready_ = "dummy.com/npu: kubelet has not come\n";

  EXPECT_EQ(Line(Get("/healthz")), "200 ok\n");
  EXPECT_EQ(Line(Get("/readyz")), "503 dummy.com/npu: kubelet has not come\n");
}

TEST_F(RoutesTest, AFaultOfTheNodeIsNamedAndNoReasonToRestart) {
  faults_ = {{"state", {Reason::kIo, "no space left"}}};

  EXPECT_EQ(Line(Get("/healthz")), "200 ok\n" + TextOf(faults_));
  EXPECT_EQ(Line(Get("/readyz")), "503 " + TextOf(faults_));
}

TEST_F(RoutesTest, MetricsAreOfTheMomentTheyAreAskedFor) {
  const http::Response response = Get("/metrics");

  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.content_type, http::kMetricsContentType);
  EXPECT_NE(response.body.find("\ntessera_released 1\n"), std::string::npos) << response.body;
}

TEST_F(RoutesTest, PagesAreJsonOfTheMoment) {
  const View view = Sources().view();

  EXPECT_EQ(Line(Get("/inventory")), "200 " + http::Json(InventoryPage(view)).body);
  EXPECT_EQ(Line(Get("/ledger")), "200 " + http::Json(LedgerPage(view)).body);
  EXPECT_EQ(Line(Get("/cdi")), "200 " + http::Json(CdiPage(view)).body);
  EXPECT_EQ(Line(Get("/release")), "200 " + http::Json(release_.Page()).body);
}

TEST_F(RoutesTest, ADeviceIsExplainedByItsNameAndAllWithoutOne) {
  const View view = Sources().view();

  EXPECT_EQ(Line(Get("/explain")), "200 " + http::Json(*ExplainPage(view, "")).body);
  EXPECT_EQ(Line(Get("/explain", {{"device", "0"}})),
            "200 " + http::Json(*ExplainPage(view, "0")).body);
  EXPECT_EQ(Refusal(Get("/explain", {{"device", "9"}})), "404 not-found: there is no device 9");
}

TEST_F(RoutesTest, ThereIsNoOtherPage) {
  EXPECT_EQ(Refusal(Get("/etc/passwd")), "404 not-found: there is no page /etc/passwd");
}

TEST_F(RoutesTest, PodsAreExplainedOnTheControlSocketAlone) {
  const std::map<std::string, std::string> query = {{"pod", "default/a"}};
  const auto page = PodPage(Sources().pods(), "default/a");
  ASSERT_FALSE(page);

  EXPECT_EQ(Line(control_({.method = "GET", .path = "/explain", .query = query, .body = ""})),
            Line(http::Failure(page.error())));
  EXPECT_EQ(Line(Get("/explain", query)), Line(Get("/explain")));
}

TEST_F(RoutesTest, WhatMayBeReadMayBeReadOnTheControlSocketToo) {
  EXPECT_EQ(Line(control_({.method = "GET", .path = "/release", .query = {}, .body = ""})),
            Line(Get("/release")));
}

TEST_F(RoutesTest, ACordonIsSavedBeforeItIsAnswered) {
  EXPECT_EQ(Line(Post("/cordon", R"({"device": "0", "reason": "noisy fan"})")), kOfNpu);

  EXPECT_EQ(TroubleOfNpu(), "cordoned: noisy fan");
  EXPECT_EQ(saves_, 1);
}

TEST_F(RoutesTest, ACordonThatCannotBeSavedHoldsUntilTheAgentRestarts) {
  saved_ = Fail(Reason::kIo, "no space left");

  EXPECT_EQ(Refusal(Post("/cordon", R"({"device": "0", "reason": "noisy fan"})")),
            "400 io: the order holds until the agent restarts: no space left");

  EXPECT_EQ(TroubleOfNpu(), "cordoned: noisy fan");
}

TEST_F(RoutesTest, WhoMayNotSaveTakesNoCordon) {
  may_save_ = Fail(Reason::kStateLocked, "another instance writes");

  EXPECT_EQ(Refusal(Post("/cordon", R"({"device": "0", "reason": "noisy fan"})")),
            "400 state-locked: another instance writes");

  EXPECT_EQ(TroubleOfNpu(), "not checked yet on this boot");
  EXPECT_EQ(saves_, 0);
}

TEST_F(RoutesTest, ACordonIsTakenBack) {
  Post("/cordon", R"({"device": "0", "reason": "noisy fan"})");

  EXPECT_EQ(Line(Post("/uncordon", R"({"device": "0"})")), kOfNpu);

  EXPECT_EQ(TroubleOfNpu(), "not checked yet on this boot");
  EXPECT_EQ(saves_, 2);
}

TEST_F(RoutesTest, OnlyADeviceThatWaitsForAResetIsToldThatItWasReset) {
  EXPECT_EQ(Refusal(Post("/was-reset", R"({"device": "0"})")),
            "400 invalid: device dummy.com/npu/0 does not wait for a reset");

  Observation fatal = Fatal("0", "off the bus");
  fatal.evidence.remedy = Remedy::kReset;
  node_.node_.Observe(kSource, {fatal});
  EXPECT_EQ(Line(Post("/was-reset", R"({"device": "0"})")), kOfNpu);

  EXPECT_EQ(node_.node_.VerdictOf({kSource, "0"}).remedy, Remedy::kNone);
}

TEST_F(RoutesTest, AReleaseBeginsAndEndsByOrder) {
  const http::Response begun = Post("/release", R"({"for": "1m"})");
  EXPECT_EQ(Line(begun), "200 " + http::Json(release_.Page()).body);
  EXPECT_TRUE(release_.under_way());

  Post("/release", R"({"end": true})");
  EXPECT_FALSE(release_.under_way());
}

TEST_F(RoutesTest, AnOrderThatCannotBeReadIsRefused) {
  EXPECT_EQ(Post("/cordon", "{").status, 400);
  EXPECT_EQ(Post("/reboot", "{}").status, 404);
  EXPECT_EQ(saves_, 0);
}

}  // namespace
}  // namespace tessera::agent
