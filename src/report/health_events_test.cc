// SPDX-License-Identifier: Apache-2.0
#include "report/health_events.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "node/node_under_test.h"

namespace tessera {
namespace {

constexpr Wall kToldAt{Duration(1'795'197'600'000)};

Verdict In(HealthState state, const std::string& detail = "") {
  Verdict verdict;
  verdict.state = state;
  verdict.reason = Reason::kFatalEvent;
  verdict.detail = detail;
  return verdict;
}

Transition Step(const std::string& id, HealthState before, HealthState after) {
  return {{kSource, id}, In(before), In(after, "fell off the bus")};
}
Transition Fall(const std::string& id) {
  return Step(id, HealthState::kHealthy, HealthState::kUnhealthy);
}
Transition Return(const std::string& id) {
  return Step(id, HealthState::kRecovering, HealthState::kHealthy);
}

const std::string kWhy =
    "fell off the bus [fatal-event]: look at the device; it returns by itself once its checks pass "
    "again";

Holding Holds(const std::string& pod, const std::string& container, std::vector<std::string> ids) {
  return {.pod_namespace = "team-a",
          .pod = pod,
          .pod_uid = pod + "-uid",
          .container = container,
          .resource = kSource,
          .share_ids = std::move(ids)};
}

// The events, one per line: "Node worker-1 (worker-1) main: Warning DeviceUnhealthy: ...".
std::string Told(const std::vector<Transition>& steps, std::vector<Holding> holdings = {}) {
  Ledger ledger(Duration(1'000));
  ledger.Reconcile(std::move(holdings), {kSource}, Steady{});
  std::string text;
  for (const kube::Event& event : EventsOf(kSource, steps, ledger, "worker-1", kToldAt)) {
    EXPECT_EQ(event.when, kToldAt);
    text += event.about.kind + " " + event.about.name + " (" + event.about.uid + ")" +
            (event.about.container.empty() ? "" : " " + event.about.container) + ": " +
            (event.warning ? "Warning " : "Normal ") + event.reason + ": " + event.message + "\n";
  }
  return text;
}

// As above, for a container's directory.
std::string ToldOfSpace(const std::string& pod, std::vector<Holding> holdings) {
  Ledger ledger(Duration(1'000));
  ledger.Reconcile(std::move(holdings), {kSource}, Steady{});
  BindingRecord record;
  record.pod_uid = pod;
  record.container = "main";
  record.directory = "/usr/local/vgpu/containers/0123";
  const GrantSpace::Cut cut{.grant = "0123",
                            .record = std::make_shared<const BindingRecord>(record),
                            .what = "20 MiB in 2 files"};
  const auto event = EventOf(cut, ledger, kToldAt);
  if (!event) return "nothing";
  EXPECT_EQ(event->when, kToldAt);
  EXPECT_TRUE(event->warning);
  return event->about.pod_namespace + "/" + event->about.name + " " + event->about.container +
         ": " + event->reason + ": " + event->message;
}

TEST(EventsOf, ADirectoryThatWasCutBackIsToldOnThePodOfItsContainer) {
  const std::string told =
      "team-a/a main: VgpuDirectoryCutBack: /usr/local/vgpu is reserved for the limiting library: "
      "20 MiB in 2 files";
  const std::vector<Holding> holdings = {Holds("a", "main", {"3"}), Holds("b", "main", {"2"})};
  EXPECT_EQ(ToldOfSpace("a-uid", holdings), told);
  EXPECT_EQ(ToldOfSpace("team-a/a", holdings), told);
  EXPECT_EQ(ToldOfSpace("c-uid", holdings), "nothing");
  EXPECT_EQ(ToldOfSpace("a-uid", {Holds("a", "side", {"3"})}), "nothing");
}

TEST(EventsOf, AFallIsToldOnTheNodeAndOnThePodsThatHoldTheDevice) {
  EXPECT_EQ(
      Told({Fall("3")},
           {Holds("a", "main", {"3"}), Holds("b", "side", {"2", "3"}), Holds("c", "main", {"2"})}),
      "Node worker-1 (worker-1): Warning DeviceUnhealthy: device dummy.com/npu/3 is "
      "unhealthy: " +
          kWhy +
          "\n"
          "Pod a (a-uid) main: Warning DeviceUnhealthy: device dummy.com/npu/3 is unhealthy: " +
          kWhy +
          "\n"
          "Pod b (b-uid) side: Warning DeviceUnhealthy: device dummy.com/npu/3 is unhealthy: " +
          kWhy + "\n");
}

TEST(EventsOf, AReturnIsToldAsWell) {
  EXPECT_EQ(Told({Return("3")}, {Holds("a", "main", {"3::1"})}),
            "Node worker-1 (worker-1): Normal DeviceHealthy: device dummy.com/npu/3 is healthy "
            "again\n"
            "Pod a (a-uid) main: Normal DeviceHealthy: device dummy.com/npu/3 is healthy again\n");
}

TEST(EventsOf, OnlyTheEndsOfAFallAreTold) {
  using enum HealthState;
  struct Row {
    HealthState before;
    HealthState after;
    bool told;
  };
  for (const Row& row : std::vector<Row>{{kUnverified, kHealthy, false},
                                         {kUnverified, kUnhealthy, true},
                                         {kHealthy, kSuspect, false},
                                         {kSuspect, kHealthy, false},
                                         {kSuspect, kUnhealthy, true},
                                         {kHealthy, kUnhealthy, true},
                                         {kUnhealthy, kRecovering, false},
                                         {kRecovering, kUnhealthy, false},
                                         {kUnhealthy, kHealthy, true},
                                         {kRecovering, kHealthy, true},
                                         {kHealthy, kUnverified, false}}) {
    EXPECT_EQ(!Told({Step("3", row.before, row.after)}).empty(), row.told)
        << HealthStateName(row.before) << " to " << HealthStateName(row.after);
  }
}

TEST(EventsOf, APodThatHoldsSeveralIsToldOnceOfAllContainers) {
  EXPECT_EQ(
      Told({Fall("3"), Fall("4")}, {Holds("a", "main", {"3"}), Holds("a", "side", {"3", "4"})}),
      "Node worker-1 (worker-1): Warning DeviceUnhealthy: device dummy.com/npu/3 is "
      "unhealthy: " +
          kWhy +
          "\n"
          "Node worker-1 (worker-1): Warning DeviceUnhealthy: device dummy.com/npu/4 is "
          "unhealthy: " +
          kWhy +
          "\n"
          "Pod a (a-uid): Warning DeviceUnhealthy: devices dummy.com/npu/3, dummy.com/npu/4 are "
          "unhealthy: the first of them: " +
          kWhy + "\n");
}

TEST(EventsOf, ManyFallsAreOneEventOnTheNode) {
  std::vector<Transition> steps;
  for (int n = 0; n < 9; ++n) steps.push_back(Fall(std::to_string(n)));

  EXPECT_EQ(Told(steps),
            "Node worker-1 (worker-1): Warning DeviceUnhealthy: devices dummy.com/npu/0, "
            "dummy.com/npu/1, dummy.com/npu/2 and 6 more are unhealthy: the first of them: " +
                kWhy + "\n");
}

TEST(EventsOf, AHolderThatNobodyHasNamedHasNoEvent) {
  Holding nameless = Holds("", "init", {"3"});
  nameless.pod_namespace = "";

  EXPECT_EQ(Told({Return("3")}, {nameless}),
            "Node worker-1 (worker-1): Normal DeviceHealthy: device dummy.com/npu/3 is healthy "
            "again\n");
}

class ConditionOfNode : public NodeUnderTest, public testing::Test {
 protected:
  void SetUp() override {
    node_.UpdateDevices(kSource, {Npu("0"), Npu("1")});
    node_.Observe(kSource, {Good("0"), Good("1")});
  }
  std::string Now() {
    const kube::Condition condition = ConditionOf(node_, "DevicesUnhealthy");
    EXPECT_EQ(condition.type, "DevicesUnhealthy");
    return (condition.holds ? "true " : "false ") + condition.reason + ": " + condition.message;
  }
};

TEST_F(ConditionOfNode, IsFalseWhileNoDeviceIsOut) {
  EXPECT_EQ(Now(), "false DevicesHealthy: no device is unhealthy");
}

TEST_F(ConditionOfNode, NamesWhatIsOutAndWhy) {
  node_.Observe(kSource, {Fatal("1", "fell off the bus")});
  EXPECT_EQ(Now(), "true DeviceUnhealthy: 1 of 2 devices unhealthy: dummy.com/npu/1; " + kWhy);

  node_.Observe(kSource, {Fatal("0", "fell off the bus")});
  EXPECT_EQ(Now(),
            "true DeviceUnhealthy: 2 of 2 devices unhealthy: dummy.com/npu/0, dummy.com/npu/1; the "
            "first: " +
                kWhy);
}

TEST_F(ConditionOfNode, HoldsUntilTheDeviceIsOfferedAgain) {
  node_.Observe(kSource, {Fatal("1", "fell off the bus")});
  node_.Observe(kSource, {Good("1")});
  EXPECT_TRUE(Now().starts_with("true ")) << Now();

  clock_.Advance(Duration(60'000));
  node_.Observe(kSource, {Good("1")});
  EXPECT_EQ(Now(), "false DevicesHealthy: no device is unhealthy");
}

TEST_F(ConditionOfNode, IsNotAboutDevicesThatSomebodyTookOutByHand) {
  node_.Observe(kSource, {Fatal("1", "fell off the bus")});
  ASSERT_TRUE(node_.Cordon("1", "being replaced").has_value());

  EXPECT_EQ(Now(), "false DevicesHealthy: no device is unhealthy");
}

}  // namespace
}  // namespace tessera
