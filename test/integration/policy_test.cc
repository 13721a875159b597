// SPDX-License-Identifier: Apache-2.0
// Devices change to another policy one by one, each when no container holds a share that would be
// lost.
#include <algorithm>
#include <csignal>
#include <map>
#include <thread>

#include "agent_fixture.h"
#include "os/files.h"
#include "share/share.h"

namespace tessera {
namespace {

using Ids = std::vector<std::string>;

class PolicyTest : public AgentTest {
 protected:
  // Four devices with so many shares each; 1: whole devices.
  static std::string Divided(int replicas) {
    if (replicas == 1) return kFour;
    return fmt::format(
        "  - {{name: dummy.com/npu, policy: replicas, replicas: {}, dummy: {{count: 4}}}}\n",
        replicas);
  }
  void Divide(int replicas) { WriteConfig(Config(Divided(replicas))); }
  void Start(int replicas) {
    StartAll(Divided(replicas));
    Expect(kNpu, 4 * replicas, 4 * replicas);
    // Before the ledger is known, no device would change.
    ASSERT_TRUE(AwaitMetric(R"(tessera_ledger_reconciliations_total{result="good"})", 1));
  }
  // Runs a pod and waits until kubelet has reported its holding. The agent would never learn the
  // holding of a pod that ended before.
  Ids IdsOf(const std::string& pod, int count = 1) {
    const kubelet::Admission admission = Run(pod, {{kNpu, count}});
    EXPECT_TRUE(admission.admitted) << admission.message;
    EXPECT_TRUE(LedgerKnows(pod));
    return admission.admitted ? admission.grants[0].ids : Ids();
  }
  bool LedgerSettlesAt(size_t count) {
    return AwaitPage("/ledger", [&](const json::Object& page) {
      const json::Array* pending = json::GetArray(page, "pending");
      const json::Array* holdings = json::GetArray(page, "holdings");
      // A holding that only kubelet's checkpoint has would outlive its pod there.
      const auto has_pod = [](const json::Value& holding) {
        return !json::GetString(holding.as_object(), "pod").value_or("").empty();
      };
      return pending != nullptr && pending->empty() && holdings != nullptr &&
             holdings->size() == count && std::ranges::all_of(*holdings, has_pod);
    });
  }
  void End(const std::string& pod) { EXPECT_TRUE(kubelet_->EndPod("default", pod)); }
  // The device's ids in kubelet's list.
  Ids SharesOf(const std::string& device) {
    Ids ids;
    for (const auto& each : Status(kNpu).devices) {
      if (DeviceOfShare(each.id) == device) ids.push_back(each.id);
    }
    return ids;
  }
  size_t TimesInLog(const std::string& text) {
    const std::string log = Log();
    size_t times = 0;
    for (size_t at = log.find(text); at != std::string::npos; at = log.find(text, at + 1)) ++times;
    return times;
  }
};

constexpr char kWaits[] = "devices keep their former shares until no container holds them ";
constexpr char kChanged[] = "all devices follow the configured policy ";

TEST_F(PolicyTest, ADeviceThatIsHeldWholeWaitsAndTheOthersDoNot) {
  Start(1);
  ASSERT_EQ(IdsOf("a"), Ids{"0"});

  Divide(4);

  Expect(kNpu, 13, 13);
  EXPECT_EQ(SharesOf("0"), Ids{"0"});
  EXPECT_EQ(SharesOf("1"), (Ids{"1::0", "1::1", "1::2", "1::3"}));
  const kubelet::Admission all = Run("b", {{kNpu, 12}});
  EXPECT_TRUE(all.admitted) << all.message;
  EXPECT_FALSE(Run("c", {{kNpu, 1}}).admitted);
  EXPECT_TRUE(kubelet_->RestartContainer("default", "a", "main"));

  End("a");
  Expect(kNpu, 16, 16);
  EXPECT_EQ(Registrations(kNpu), 1);
}

TEST_F(PolicyTest, ADeviceOfWhichAShareIsHeldIsOfferedToNobodyElse) {
  Start(4);
  ASSERT_EQ(IdsOf("a"), Ids{"0::0"});
  ASSERT_EQ(IdsOf("b"), Ids{"1::0"});
  ASSERT_EQ(IdsOf("c", 4), (Ids{"0::1", "1::1", "2::0", "3::0"}));
  End("a");

  Divide(1);

  Expect(kNpu, 5, 5);
  EXPECT_EQ(SharesOf("0"), Ids{"0::1"});
  EXPECT_EQ(SharesOf("1"), (Ids{"1::0", "1::1"}));
  EXPECT_FALSE(Run("d", {{kNpu, 1}}).admitted);
  End("c");
  Expect(kNpu, 4, 4);
  EXPECT_EQ(SharesOf("0"), Ids{"0"});
  EXPECT_EQ(SharesOf("1"), Ids{"1::0"});
  End("b");
  EXPECT_TRUE(kubelet_->WaitUntil([&](const auto&) { return SharesOf("1") == Ids{"1"}; }, kLimit));
  EXPECT_TRUE(AwaitLog(kChanged));
}

TEST_F(PolicyTest, AHeldShareThatStaysOneHoldsNothingUp) {
  Start(4);
  ASSERT_EQ(IdsOf("a"), Ids{"0::0"});

  Divide(8);
  Expect(kNpu, 32, 32);
  Divide(2);
  Expect(kNpu, 8, 8);

  EXPECT_EQ(Log().find("devices keep their former shares"), std::string::npos);
  EXPECT_TRUE(kubelet_->RestartContainer("default", "a", "main"));
}

TEST_F(PolicyTest, WhatWaitsIsToldOnceAndShownUntilItHasChanged) {
  Start(1);
  ASSERT_EQ(IdsOf("a"), Ids{"0"});
  ASSERT_EQ(IdsOf("b"), Ids{"1"});

  Divide(4);
  Expect(kNpu, 10, 10);
  const json::Object resource = Page("/inventory").at("resources").at(0).as_object();
  EXPECT_EQ(resource.at("policy"), "replicas");
  EXPECT_EQ(resource.at("waiting"), (json::Object{{"devices", 2}, {"policy", "4 replicas"}}));
  const json::Array candidates = Page("/explain").at("candidates").as_array();
  EXPECT_EQ(candidates.at(0).at("why"),
            "healthy, offered as 1 share of a former policy until no container holds it");
  EXPECT_EQ(candidates.at(2).at("why"), "healthy, offered as 4 shares");
  Fault("fail", "3", "on fire");
  Expect(kNpu, 10, 6);
  End("a");
  Expect(kNpu, 13, 9);

  EXPECT_EQ(TimesInLog(kWaits), 1U);
  EXPECT_EQ(TimesInLog("resource=dummy.com/npu devices=2 configured=\"4 replicas\""), 1U);
  EXPECT_EQ(TimesInLog(kChanged), 0U);
  End("b");
  Expect(kNpu, 16, 12);
  EXPECT_TRUE(AwaitLog(kChanged));
  EXPECT_EQ(TimesInLog(kWaits), 1U);
  EXPECT_EQ(TimesInLog(kChanged), 1U);
  EXPECT_FALSE(Page("/inventory").at("resources").at(0).as_object().contains("waiting"));
}

TEST_F(PolicyTest, AnAgentThatIsKilledWhileADeviceWaitsIsSucceededByOneThatOffersTheSame) {
  Start(1);
  ASSERT_EQ(IdsOf("a"), Ids{"0"});
  Divide(4);
  Expect(kNpu, 13, 13);
  ASSERT_TRUE(AwaitSaved(4));
  EndAgent(SIGKILL);
  ForgetListsOfTheEnded();

  agent_ = StartAgent();

  EXPECT_EQ(ListsUntil(ListOf(13, 13)), Ids{ListOf(13, 13)});
  ASSERT_TRUE(LedgerKnows("a"));
  End("a");
  Expect(kNpu, 16, 16);
}

TEST_F(PolicyTest, APolicyThatChangedWhileNoAgentRanComesWhenHoldersAreKnown) {
  Start(1);
  ASSERT_EQ(IdsOf("a"), Ids{"0"});
  ASSERT_TRUE(AwaitSaved(4));
  EndAgent(SIGKILL);
  ForgetListsOfTheEnded();
  Divide(4);

  agent_ = StartAgent();

  Ids lists = ListsUntil(ListOf(13, 13));
  std::erase(lists, ListOf(4, 4));  // not sent, if the agent knew the holders before its stream
  EXPECT_EQ(lists, Ids{ListOf(13, 13)});
  EXPECT_NE(Log().find("devices keep their former shares until kubelet reports which containers "
                       "hold them resource=dummy.com/npu devices=4 configured=\"4 replicas\""),
            std::string::npos);
}

// Kubelet's checkpoint names the pod until kubelet writes it again, which nothing here causes.
TEST_F(PolicyTest, APodThatEndedWhileNoAgentRanHoldsNothingUp) {
  Start(1);
  ASSERT_EQ(IdsOf("a", 4), (Ids{"0", "1", "2", "3"}));
  EndAgent(SIGKILL);
  End("a");
  Divide(4);

  agent_ = StartAgent();

  Expect(kNpu, 16, 16);
}

// As after a swap of another plugin's image: there is no saved state. Kubelet's pod-resources API
// does not answer either.
TEST_F(PolicyTest, WithoutAMemoryOfItsOwnKubeletsCheckpointTellsWhatIsHeld) {
  Start(1);
  ASSERT_EQ(IdsOf("a"), Ids{"0"});
  EndAgent(SIGKILL);
  ASSERT_TRUE(os::RemoveTree(dir_ + "/state"));
  ASSERT_TRUE(os::RemoveFile(dir_ + "/kubelet/pod-resources/kubelet.sock"));
  Divide(4);

  agent_ = StartAgent();

  Expect(kNpu, 13, 13);
  EXPECT_EQ(SharesOf("0"), Ids{"0"});
}

// Pods come during the change. Each device is held whole by one pod, or in shares.
TEST_F(PolicyTest, NoDeviceIsGivenAwayASecondTimeWhilePodsCome) {
  Start(1);
  for (int round = 0; round < 8; ++round) {
    SCOPED_TRACE(round);
    const int before = round % 2 == 0 ? 1 : 4;
    std::map<std::string, std::string> held;  // share id by pod
    const auto come = [&](int most) {
      for (int i = 0; i < most; ++i) {
        const std::string pod = fmt::format("p{}-{}", round, held.size());
        const kubelet::Admission admission = Run(pod, {{kNpu, 1}});
        if (admission.admitted) held[pod] = admission.grants[0].ids[0];
      }
    };
    std::thread pods(come, 4);
    Divide(5 - before);
    pods.join();
    EXPECT_TRUE(AwaitMetric(R"(tessera_config_reloads_total{result="good"})", round + 1));
    come(16);

    for (const auto& [pod, id] : held) {
      const auto on_same = [&](const auto& other) { return DeviceOfShare(other.second) == id; };
      EXPECT_LE(std::ranges::count_if(held, on_same), 1) << id << " is held whole and in shares";
    }
    ASSERT_TRUE(LedgerSettlesAt(held.size()));
    for (const auto& [pod, id] : held) End(pod);
    Expect(kNpu, 4 * (5 - before), 4 * (5 - before));
    ASSERT_TRUE(LedgerSettlesAt(0));
  }
}

}  // namespace
}  // namespace tessera
