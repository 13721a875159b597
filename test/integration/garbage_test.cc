// SPDX-License-Identifier: Apache-2.0
// Calls on the agent's own socket that no working kubelet makes.
#include <algorithm>

#include "agent_fixture.h"
#include "sim/kubelet/plugin_client.h"

namespace tessera {
namespace {

using Ids = std::vector<std::string>;

constexpr Duration kAnswerLimit{1'000};  // as promised; it takes a thousandth of that

class GarbageTest : public AgentTest {
 protected:
  void Start(const std::string& resources) {
    StartAll(resources);
    ASSERT_TRUE(
        kubelet_->WaitUntil([&](const auto&) { return Status(kNpu).allocatable > 0; }, kLimit));
    client_ = std::make_unique<kubelet::embedded::PluginClient>(
        kNpu, dir_ + "/kubelet/device-plugins/" + OwnSockets().at(0));
    auto connected =
        client_->Connect({.dial = SystemClock().Now() + kLimit, .cancelled = nullptr}, stopping_);
    ASSERT_TRUE(connected) << connected.error().message;
  }
  // Allocate's answer: the refusal, or "granted". The best of three tries counts, as a busy machine
  // may delay one of them.
  std::string Allocate(const Ids& ids) {
    Duration best = Duration::max();
    std::string said;
    for (int tries = 0; tries < 3 && best >= kAnswerLimit; ++tries) {
      const Steady began = SystemClock().Now();
      const auto answer = client_->Allocate(ids);
      best = std::min(best, SystemClock().Now() - began);
      said = answer ? "granted" : answer.error().message;
    }
    EXPECT_LT(best, kAnswerLimit);
    return said;
  }

  Ids Prefer(const Ids& available, const Ids& must_include, int size) {
    auto answer = client_->Prefer(available, must_include, size);
    return answer ? *answer : Ids{answer.error().message};
  }

  kubelet::embedded::Cancellation stopping_;
  std::unique_ptr<kubelet::embedded::PluginClient> client_;
};

Ids Numbered(int count) {
  Ids ids;
  for (int i = 0; i < count; ++i) ids.push_back(std::to_string(i));
  return ids;
}

std::string Unknown(const std::string& id) {
  return "rpc error: code = NotFound desc = dummy.com/npu: there is no id " + id +
         " among the 4 this node offers [unknown-share]: delete the pod so that its controller "
         "makes a new one; if it repeats, restart kubelet: its device list is out of date";
}

TEST_F(GarbageTest, ARequestForNothingIsRefused) {
  Start(kFour);

  EXPECT_EQ(Allocate({}),
            "rpc error: code = InvalidArgument desc = dummy.com/npu: the request names no device "
            "[empty-request]: ask for at least one device in the container's limits");
  EXPECT_TRUE(AwaitMetric(
      R"(tessera_allocations_total{resource="dummy.com/npu",code="empty-request"})", 1));
  EXPECT_TRUE(
      AwaitLog(" WARN allocation refused resource=dummy.com/npu reason=empty-request "
               "error=\"dummy.com/npu: the request names no device\""));
}

TEST_F(GarbageTest, IdsThatAreNoneAreRefusedAndNamedBriefly) {
  Start(kFour);

  EXPECT_EQ(Allocate({""}), Unknown("\"\""));
  EXPECT_EQ(Allocate({"a\nb"}), Unknown("\"a\\nb\""));
  EXPECT_EQ(Allocate({"0::0"}), Unknown("0::0"));
  EXPECT_EQ(Allocate({"../../etc/passwd"}), Unknown("../../etc/passwd"));
  EXPECT_EQ(Allocate({std::string(1'000'000, 'x')}),
            Unknown("\"" + std::string(64, 'x') + "\"... (1000000 bytes)"));
  EXPECT_TRUE(AwaitMetric(
      R"(tessera_allocations_total{resource="dummy.com/npu",code="unknown-share"})", 5));
  // protobuf itself rejects text that is not UTF-8.
  EXPECT_EQ(
      Allocate({"\xff\xfe"}),
      "rpc error: code = InvalidArgument desc = no AllocateRequest, or one with an id that is "
      "not UTF-8");
  EXPECT_TRUE(
      AwaitLog(" WARN allocation refused resource=dummy.com/npu reason=unknown-share "
               "error=\"dummy.com/npu: there is no id ../../etc/passwd among the 4"));
  EXPECT_TRUE(AwaitLog(" WARN protobuf text=\"String field contains invalid UTF-8 data"));

  EXPECT_EQ(Allocate({"0"}), "granted");
}

TEST_F(GarbageTest, TenThousandIdsOfWhichMostAreNoneAreRefused) {
  Start(kFour);

  EXPECT_EQ(Allocate(Numbered(10'000)), Unknown("4"));
  EXPECT_TRUE(AwaitMetric(
      R"(tessera_allocations_total{resource="dummy.com/npu",code="unknown-share"})", 1));
  EXPECT_TRUE(
      AwaitLog(" WARN allocation refused resource=dummy.com/npu reason=unknown-share "
               "error=\"dummy.com/npu: there is no id 4 among the 4 this node offers\""));
}

TEST_F(GarbageTest, TenThousandIdsThatThereAreAreGrantedToOneAndLeaveNoneForTheNext) {
  Start("  - {name: dummy.com/npu, policy: replicas, replicas: 1000, dummy: {count: 10}}\n");
  Expect(kNpu, 10'000, 10'000);

  kubelet::Admission all = Run("a", {{kNpu, 10'000}});
  kubelet::Admission next = Run("b", {{kNpu, 1}});

  EXPECT_TRUE(all.admitted) << all.message;
  EXPECT_EQ(all.grants[0].ids.size(), 10'000u);
  EXPECT_EQ(all.grants[0].response.envs.at("DUMMY_VISIBLE_DEVICES"), "0,1,2,3,4,5,6,7,8,9");
  EXPECT_FALSE(next.admitted);
}

TEST_F(GarbageTest, APreferenceKeepsWhatItMustAndAddsOnlyIdsThatThereAre) {
  Start(kFour);

  EXPECT_EQ(Prefer({"x", "2", std::string(100'000, 'x')}, {"1", "y"}, 100'000),
            (Ids{"1", "y", "2"}));
  EXPECT_EQ(Prefer({"0", "1"}, {}, -5), Ids{});
}

}  // namespace
}  // namespace tessera
