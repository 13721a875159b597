// SPDX-License-Identifier: Apache-2.0
#include "kube/node_keeper.h"

#include "kube/condition.h"
#include "kube/fake_cluster_test.h"

namespace tessera::kube {
namespace {

using Words = std::vector<std::string>;

Condition Unhealthy(bool holds, const std::string& message) {
  return {.type = "DevicesUnhealthy",
          .holds = holds,
          .reason = holds ? "DeviceUnhealthy" : "DevicesHealthy",
          .message = message};
}

// A fake node that stores the conditions written to it.
class NodeKeeperTest : public ClusterTest {
 protected:
  NodeKeeperTest() {
    handler_ = [this](const fake::Asked& asked, fake::Peer& peer) {
      if (busy_ > 0) {
        --busy_;
        return peer.Send(Refusal(503, "ServiceUnavailable", "starting", busy_headers_));
      }
      if (asked.method == "PATCH") Take(json::Parse(asked.body).value());
      peer.Send(fake::Answer(
          200, json::Write(json::Object{{"status", json::Object{{"conditions", conditions_}}}})));
    };
  }
  void Take(const json::Value& patch) {
    ++patches_;
    const json::Object& status = *json::GetObject(patch.as_object(), "status");
    conditions_ = *json::GetArray(status, "conditions");
  }
  // The last written condition, such as "True: 1 of 2".
  std::string Written() const {
    if (conditions_.empty()) return "";
    const json::Object& condition = conditions_.front().as_object();
    return *json::GetString(condition, "status") + ": " + *json::GetString(condition, "message");
  }
  void Want(const Condition& wanted) {
    if (!keeper_) {
      keeper_ = std::make_unique<NodeKeeper>(
          loop_, client(), "n1",
          NodeKeeper::Target{"the node's condition", "/status", PatchType::kStrategic, look_},
          Backoff(Duration(1), Duration(1)));
    }
    keeper_->Set(
        [wanted](const json::Value& node) { return ConditionPatch(wanted, node, Wall{}); });
  }
  bool RunUntilWritten(const std::string& text) {
    return RunUntil([&] { return Written() == text; });
  }

  json::Array conditions_;
  int patches_ = 0;
  int busy_ = 0;
  Duration look_ = NodeKeeper::kLook;
  std::string busy_headers_;
  std::unique_ptr<NodeKeeper> keeper_;
};

TEST_F(NodeKeeperTest, IsWrittenByAPatchOfTheStatus) {
  Want(Unhealthy(true, "1 of 2"));

  ASSERT_TRUE(RunUntilWritten("True: 1 of 2"));
  EXPECT_EQ(Targets(), (Words{"GET /api/v1/nodes/n1", "PATCH /api/v1/nodes/n1/status"}));
  EXPECT_EQ(asked_[1].headers["content-type"], "application/strategic-merge-patch+json");
}

TEST_F(NodeKeeperTest, TheSameIsNotWrittenAgain) {
  Want(Unhealthy(true, "1 of 2"));
  ASSERT_TRUE(RunUntilWritten("True: 1 of 2"));

  Want(Unhealthy(true, "1 of 2"));
  Want(Unhealthy(false, "none"));

  ASSERT_TRUE(RunUntilWritten("False: none"));
  EXPECT_EQ(patches_, 2);
}

TEST_F(NodeKeeperTest, OfWishesThatComeMeanwhileTheNewestCounts) {
  Want(Unhealthy(true, "1 of 2"));
  Want(Unhealthy(true, "2 of 2"));
  Want(Unhealthy(false, "none"));

  ASSERT_TRUE(RunUntilWritten("False: none"));
  EXPECT_EQ(patches_, 1);
}

TEST_F(NodeKeeperTest, WhoeverWasFasterIsReadAgain) {
  bool raced = false;
  handler_ = [this, &raced, usual = handler_](const fake::Asked& asked, fake::Peer& peer) {
    if (asked.method == "PATCH" && !std::exchange(raced, true)) {
      return peer.Send(Refusal(409, "Conflict", "the object has been modified"));
    }
    usual(asked, peer);
  };

  Want(Unhealthy(true, "1 of 2"));

  ASSERT_TRUE(RunUntilWritten("True: 1 of 2"));
  EXPECT_EQ(Targets(), (Words{"GET /api/v1/nodes/n1", "PATCH /api/v1/nodes/n1/status",
                              "GET /api/v1/nodes/n1", "PATCH /api/v1/nodes/n1/status"}));
}

TEST_F(NodeKeeperTest, AServerThatCannotTakeItIsAskedAgain) {
  limits_.deadline = Duration(100);  // below the client's own pauses
  busy_ = 3;

  Want(Unhealthy(true, "1 of 2"));

  EXPECT_TRUE(RunUntilWritten("True: 1 of 2"));
}

TEST_F(NodeKeeperTest, ItWaitsForTheTimeTheServerNamedThoughThatIsBeyondACallsDeadline) {
  limits_.deadline = Duration(900);
  busy_ = 1;
  busy_headers_ = "Retry-After: 1\r\n";
  const Steady begin = SystemClock().Now();

  Want(Unhealthy(true, "1 of 2"));
  ASSERT_TRUE(RunUntil([&] { return busy_ == 0; }));
  Want(Unhealthy(true, "2 of 2"));

  ASSERT_TRUE(RunUntilWritten("True: 2 of 2"));
  EXPECT_GE(SystemClock().Now() - begin, Duration(1'000));
}

TEST_F(NodeKeeperTest, WhatSomebodyTakesAwayComesBackWithTheNextLook) {
  look_ = Duration(20);
  Want(Unhealthy(true, "1 of 2"));
  ASSERT_TRUE(RunUntilWritten("True: 1 of 2"));

  conditions_.clear();

  EXPECT_TRUE(RunUntilWritten("True: 1 of 2"));
  EXPECT_EQ(patches_, 2);
}

TEST_F(NodeKeeperTest, AConditionThatIsThereAlreadyIsLeft) {
  const json::Value patch = *ConditionPatch(Unhealthy(true, "1 of 2"), {}, Wall{});
  Take(patch);

  Want(Unhealthy(true, "1 of 2"));
  ASSERT_TRUE(RunUntil([&] { return !asked_.empty(); }));
  Want(Unhealthy(true, "2 of 2"));

  ASSERT_TRUE(RunUntilWritten("True: 2 of 2"));
  EXPECT_EQ(patches_, 2);  // the test's own, and the last
}

}  // namespace
}  // namespace tessera::kube
