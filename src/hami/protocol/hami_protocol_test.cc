// SPDX-License-Identifier: Apache-2.0
#include "hami/protocol/hami_protocol.h"

#include "api/hami_cluster.h"
#include "base/captured_log_test.h"

namespace tessera {
namespace {

using Words = std::vector<std::string>;

const hami::Entry kA = {{"GPU-a", "NVIDIA", 3000, 30}};
const hami::Entry kB = {{"GPU-b", "NVIDIA", 4000, 0}};
constexpr char kOne[] = "GPU-a,NVIDIA,3000,30:;";
constexpr char kTwo[] = "GPU-a,NVIDIA,3000,30:;GPU-b,NVIDIA,4000,0:;";
constexpr char kAlike[] = "GPU-a,NVIDIA,3000,30:;GPU-a,NVIDIA,3000,30:;GPU-b,NVIDIA,4000,0:;";

class HamiProtocolTest : public HamiClusterTest {
 protected:
  HamiProtocol& protocol() {
    if (!protocol_) {
      protocol_ = std::make_unique<HamiProtocol>(
          hami::kNvidia, loop_, client(), "n1",
          [this](const std::vector<kube::Event>& events) {
            for (const kube::Event& event : events) events_.push_back(event);
          },
          HamiProtocol::Times{.settle = Duration(5), .retries = {Duration(1), Duration(1)}},
          clock_);
      protocol_->Serve({"nvidia.com/gpu"});
    }
    return *protocol_;
  }
  // Restarts as another process, with its own client: a protocol's requests end with their client.
  void Restart() {
    protocol_.reset();
    client_.reset();
  }
  void See(const std::string& name) {
    protocol().PodChanged(std::make_shared<const kube::Pod>(Seen(name)));
  }
  void Give(const std::string& pod, const std::string& container, const hami::Entry& entry,
            const std::map<std::string, std::string>& units = {}) {
    protocol().Bound(
        {.pod_uid = "uid-" + pod, .container = container, .entry = entry, .units = units});
  }
  void Refuse(const std::string& pod, const std::string& message, bool for_good = false) {
    protocol().Refused({.pod_uid = "uid-" + pod,
                        .container = "main",
                        .error = {Reason::kNoRoom, message},
                        .for_good = for_good});
  }
  // Runs everything that is due now.
  void Rest() {
    bool rested = false;
    const auto end = loop_.After(Duration(60), [&] { rested = true; });
    ASSERT_TRUE(RunUntil([&] { return rested; }));
    ASSERT_TRUE(Get().has_value());
  }
  bool RunUntilPhase(const std::string& pod, const std::string& phase) {
    return RunUntil([&] { return Pod(pod).annotations["hami.io/bind-phase"] == phase; });
  }
  std::string Left(const std::string& pod) {
    return Pod(pod).annotations["hami.io/vgpu-devices-to-allocate"];
  }
  Words PatchesOf(const std::string& object) const {
    Words of;
    for (const std::string& patch : patches()) {
      if (patch.starts_with(object + " ")) of.push_back(patch.substr(object.size() + 1));
    }
    return of;
  }
  // The events, each as "REASON MESSAGE".
  Words Events() {
    Words texts;
    for (const kube::Event& event : events_) texts.push_back(event.reason + " " + event.message);
    events_.clear();
    return texts;
  }

  FakeClock clock_;
  CapturedLog log_;
  std::vector<kube::Event> events_;
  std::unique_ptr<HamiProtocol> protocol_;
};

TEST_F(HamiProtocolTest, AContainerThatHasItsDevicesIsOnePatchOfThePod) {
  Placed("p", kOne);
  See("p");
  Give("p", "main", kA);

  ASSERT_TRUE(RunUntilPhase("p", "success"));
  EXPECT_EQ(PatchesOf("p"), Words{R"({"metadata":{"uid":"uid-p","resourceVersion":"1",)"
                                  R"("annotations":{"hami.io/bind-phase":"success",)"
                                  R"("hami.io/vgpu-devices-to-allocate":";;"}}})"});
  EXPECT_EQ(Pod("p").annotations["hami.io/vgpu-devices-allocated"], kOne);
  EXPECT_EQ(Events(), Words{});
}

TEST_F(HamiProtocolTest, ContainersThatHaveThemShortlyAfterOneAnotherAreOnePatch) {
  Placed("p", kTwo);
  See("p");
  Give("p", "a", kA, {{"GPU-a", "0-75"}, {"GPU-b", "8"}});
  Give("p", "b", kB, {{"GPU-a", "76-99"}});

  ASSERT_TRUE(RunUntilPhase("p", "success"));
  Rest();
  EXPECT_EQ(PatchesOf("p").size(), 1U);
  EXPECT_EQ(Left("p"), ";;;");
  EXPECT_EQ(Pod("p").annotations["hami.io/amd-cu-allocated"], R"({"GPU-a":"0-99","GPU-b":"8"})");
}

TEST_F(HamiProtocolTest, AtMostTwoPatchesAPodTheFirstAndTheLast) {
  Placed("p", kAlike);
  See("p");
  Give("p", "a", kA);
  Rest();
  EXPECT_EQ(Left("p"), ";GPU-a,NVIDIA,3000,30:;GPU-b,NVIDIA,4000,0:;;");
  Give("p", "b", kB);
  Rest();
  EXPECT_EQ(PatchesOf("p").size(), 1U);
  EXPECT_EQ(Pod("p").annotations["hami.io/bind-phase"], "allocating");

  Give("p", "c", kA);

  ASSERT_TRUE(RunUntilPhase("p", "success"));
  EXPECT_EQ(Left("p"), ";;;;;");
  EXPECT_EQ(PatchesOf("p").size(), 2U);
}

TEST_F(HamiProtocolTest, AContainerThatIsToldOfAgainIsNotAnother) {
  Placed("p", kAlike);
  See("p");
  Give("p", "a", kA);
  Rest();
  const std::string left = Left("p");

  Restart();
  See("p");
  Give("p", "a", kA);
  Rest();

  EXPECT_EQ(Left("p"), left);
  EXPECT_EQ(PatchesOf("p").size(), 1U);
}

TEST_F(HamiProtocolTest, WhatIsToldBeforeThePodIsSeenWaitsForIt) {
  Placed("p", kOne);
  Give("p", "main", kA);
  Refuse("p", "full");
  Rest();
  EXPECT_EQ(patches(), Words{});
  EXPECT_EQ(Events(), Words{});

  See("p");

  ASSERT_TRUE(RunUntilPhase("p", "success"));
  ASSERT_EQ(events_.size(), 1U);
  EXPECT_EQ(events_[0].about, (kube::Reference{.kind = "Pod",
                                               .pod_namespace = "default",
                                               .name = "p",
                                               .uid = "uid-p",
                                               .container = "main"}));
}

TEST_F(HamiProtocolTest, APodThatChangedMeanwhileIsReadAnew) {
  Placed("p", kOne);
  See("p");
  ++Pod("p").version;
  Pod("p").annotations["hami.io/vgpu-time"] = "1";

  Give("p", "main", kA);

  ASSERT_TRUE(RunUntilPhase("p", "success"));
  EXPECT_EQ(LastTarget(), "PATCH " + PathOf("p"));
  EXPECT_EQ(PatchesOf("p").size(), 1U);
}

TEST_F(HamiProtocolTest, AnotherPodOfTheNameIsLeftAlone) {
  Placed("p", kOne);
  See("p");
  Pod("p").uid = "another";
  ++Pod("p").version;

  Give("p", "main", kA);
  ASSERT_TRUE(RunUntil([&] { return LastTarget() == "GET " + PathOf("p"); }));
  Rest();

  EXPECT_EQ(PatchesOf("p"), Words{});
}

TEST_F(HamiProtocolTest, WhileTheServerCannotAnswerItWaits) {
  limits_.deadline = Duration(50);  // below the client's own pauses
  Placed("p", kOne);
  Pod("p").annotations["hami.io/bind-phase"] = "other";  // the pod has no lock
  See("p");
  const std::string busy = kube::Refusal(503, "ServiceUnavailable", "starting");
  failures_ = {busy, busy, busy};

  Give("p", "main", kA);

  EXPECT_TRUE(RunUntilPhase("p", "success"));
}

TEST_F(HamiProtocolTest, APodThatIsGoneIsNotPatched) {
  Placed("p", kOne);
  See("p");
  Give("p", "main", kA);
  protocol().PodGone(Seen("p"));
  Rest();

  EXPECT_EQ(PatchesOf("p"), Words{});
}

TEST_F(HamiProtocolTest, OnlyARefusalForGoodIsFailed) {
  Placed("p", kOne);
  See("p");
  Refuse("p", "full");
  Rest();
  EXPECT_EQ(PatchesOf("p"), Words{});

  Refuse("p", "full for ever", true);

  ASSERT_TRUE(RunUntilPhase("p", "failed"));
  EXPECT_EQ(Left("p"), kOne);
  Give("p", "main", kA);
  Rest();
  EXPECT_EQ(PatchesOf("p").size(), 1U);
}

TEST_F(HamiProtocolTest, AfterSuccessNothingIsFailed) {
  Placed("p", kOne);
  See("p");
  Give("p", "main", kA);
  ASSERT_TRUE(RunUntilPhase("p", "success"));

  Refuse("p", "vanished", true);
  Rest();

  EXPECT_EQ(PatchesOf("p").size(), 1U);
}

TEST_F(HamiProtocolTest, ARefusalIsToldOnceAndAgainAfterAWhile) {
  Placed("p", kOne);
  See("p");
  const Words full = {"VirtualGpuRefused container main: " + Error{Reason::kNoRoom, "full"}.Text()};
  for (int i = 0; i < 3; ++i) Refuse("p", "full");
  EXPECT_EQ(Events(), full);
  Refuse("p", "sick");
  Refuse("p", "full");
  EXPECT_EQ(Events().size(), 1U);

  clock_.Advance(HamiProtocol::Times().repeat);
  Refuse("p", "full");
  EXPECT_EQ(Events(), full);

  Give("p", "main", kA);
  Refuse("p", "full");
  EXPECT_EQ(Events(), full);
}

TEST_F(HamiProtocolTest, RefusalsThatAreNeverTheSameAreNoFlood) {
  Placed("p", kOne);
  See("p");
  for (int i = 0; i < 100; ++i) Refuse("p", std::to_string(i));

  EXPECT_EQ(Events().size(), 8U);
}

TEST_F(HamiProtocolTest, LessThanWasAskedForIsAWarning) {
  Placed("p", kOne);
  See("p");
  protocol().Bound({.pod_uid = "uid-p",
                    .container = "main",
                    .entry = kA,
                    .less = "3000 MiB of GPU-a instead of 4000"});

  EXPECT_EQ(Events(), Words{"VirtualGpuSmaller container main has 3000 MiB of GPU-a instead of "
                            "4000, as HAMi's scheduler wrote it"});
}

TEST_F(HamiProtocolTest, AChangeOfWhatABoundPodWasAllocatedIsToldAndNothingElse) {
  Placed("p", kOne);
  See("p");
  Give("p", "main", kA);
  ASSERT_TRUE(RunUntilPhase("p", "success"));
  See("p");
  EXPECT_EQ(Events(), Words{});

  Pod("p").annotations["hami.io/vgpu-devices-allocated"] = "GPU-a,NVIDIA,80000,100:;";
  See("p");
  See("p");
  Rest();

  EXPECT_EQ(
      Events(),
      Words{"VirtualGpuChangeIgnored hami.io/vgpu-devices-allocated changed after the pod got its "
            "devices: its containers keep them. Recreate the pod to get other devices"});
  EXPECT_EQ(PatchesOf("p").size(), 1U);
}

TEST_F(HamiProtocolTest, APodThatHamiDidNotPlaceIsNotPatched) {
  Pod("p") = {.uid = "uid-p", .node = "n1"};
  See("p");
  Give("p", "main", kA);
  Refuse("p", "full", true);
  Rest();

  EXPECT_EQ(patches(), Words{});
}

TEST_F(HamiProtocolTest, APodThatWasFittedHereCountsForHamisScheduler) {
  Pod("p") = {.uid = "uid-p", .node = "n1"};
  See("p");
  protocol().Bound({.pod_uid = "uid-p", .container = "main", .entry = kA, .fitted = kOne});

  ASSERT_TRUE(RunUntil([&] { return !Pod("p").annotations["hami.io/vgpu-node"].empty(); }));
  EXPECT_EQ(PatchesOf("p"), Words{R"({"metadata":{"uid":"uid-p","resourceVersion":"1",)"
                                  R"("labels":{"hami.io/vgpu-node":"n1"},)"
                                  R"("annotations":{"hami.io/vgpu-devices-allocated":)"
                                  R"("GPU-a,NVIDIA,3000,30:;","hami.io/vgpu-node":"n1"}}})"});
  See("p");
  Rest();
  EXPECT_EQ(Events(), Words{});
}

TEST_F(HamiProtocolTest, APodThatWasFittedWithGpusOfTwoResourcesCountsForBoth) {
  Pod("p") = {.uid = "uid-p", .node = "n1"};
  See("p");
  const HamiProtocol::BoundEntry first{
      .pod_uid = "uid-p", .container = "a", .resource = "a.b/gpu", .entry = kA, .fitted = kOne};
  const HamiProtocol::BoundEntry second{.pod_uid = "uid-p",
                                        .container = "b",
                                        .resource = "a.b/big",
                                        .entry = kB,
                                        .fitted = "GPU-b,NVIDIA,1000,10:;"};
  const auto stands = [&](const std::string& text) {
    return RunUntil([&] { return Pod("p").annotations["hami.io/vgpu-devices-allocated"] == text; });
  };
  protocol().Bound(first);
  ASSERT_TRUE(stands(kOne));
  See("p");
  protocol().Bound(second);
  ASSERT_TRUE(stands("GPU-b,NVIDIA,1000,10:;" + std::string(kOne)));
  See("p");

  Restart();
  See("p");
  protocol().Bound(first);
  protocol().Bound(second);
  Rest();
  EXPECT_EQ(PatchesOf("p").size(), 2U) << "it is said already";
  EXPECT_EQ(Events(), Words{});
}

TEST_F(HamiProtocolTest, AFittedPodThatChangesBeforeThatIsWrittenHasNotBeenAllocatedAnother) {
  Pod("p") = {.uid = "uid-p", .node = "n1"};
  See("p");
  protocol().Bound({.pod_uid = "uid-p", .container = "main", .entry = kA, .fitted = kOne});
  Pod("p").phase = "Running";
  ++Pod("p").version;
  See("p");
  EXPECT_EQ(Events(), Words{});

  ASSERT_TRUE(RunUntil([&] { return !Pod("p").annotations["hami.io/vgpu-node"].empty(); }));
  See("p");
  EXPECT_EQ(Events(), Words{});
  Pod("p").annotations["hami.io/vgpu-devices-allocated"] = "";
  See("p");
  EXPECT_EQ(Events().size(), 1U) << "somebody has taken it away";
}

TEST_F(HamiProtocolTest, OfAPodThatAFormerAgentBoundTheSchedulerIsToldWhatItDoesNotKnow) {
  Placed("p", kTwo);
  protocol().Bound({.pod_uid = "uid-p", .container = "a", .entry = kA});
  protocol().Bound({.pod_uid = "uid-p", .container = "b", .entry = kB});
  See("p");

  ASSERT_TRUE(RunUntilPhase("p", "success"));
  EXPECT_EQ(PatchesOf("p").size(), 1U);
  EXPECT_EQ(Left("p"), ";;;");

  Restart();
  See("p");
  protocol().Bound({.pod_uid = "uid-p", .container = "a", .entry = kA});
  protocol().Bound({.pod_uid = "uid-p", .container = "b", .entry = kB});
  Rest();
  EXPECT_EQ(PatchesOf("p").size(), 1U) << "it is said already";
  EXPECT_EQ(Events(), Words{});
}

TEST_F(HamiProtocolTest, APodThatAFormerAgentFittedIsWrittenUnlessItStandsThere) {
  Pod("p") = {.uid = "uid-p", .node = "n1"};
  for (int agent = 0; agent < 2; ++agent) {
    Restart();
    protocol().Bound({.pod_uid = "uid-p", .container = "main", .entry = kA, .fitted = kOne});
    See("p");
    Rest();
    EXPECT_EQ(Pod("p").annotations["hami.io/vgpu-devices-allocated"], kOne);
    EXPECT_EQ(PatchesOf("p").size(), 1U);
  }
}

TEST_F(HamiProtocolTest, TheLockOfAPodIsLetGoOfWhenItIsBoundToThisNode) {
  Placed("p", kOne);
  Lock("p");

  See("p");

  ASSERT_TRUE(RunUntil([&] { return !Locked(); }));
  See("p");
  Rest();
  EXPECT_EQ(PatchesOf("n1").size(), 1U);
  EXPECT_EQ(Targets(),
            (Words{"GET /api/v1/nodes/n1", "PATCH /api/v1/nodes/n1", "GET /api/v1/nodes/n1"}))
      << "the last is the test's own";
}

TEST_F(HamiProtocolTest, APodThatAwaitsAnotherVendorsDevicesKeepsItsLockUntilItHasThem) {
  Placed("p", kOne).annotations["hami.io/dcu-devices-to-allocate"] = "DCU-0,DCU,1,2:;";
  Lock("p");
  See("p");
  protocol().NodeSeen(NodeJson());
  Rest();
  EXPECT_TRUE(Locked());

  Pod("p").annotations["hami.io/dcu-devices-to-allocate"] = ";;";
  See("p");

  EXPECT_TRUE(RunUntil([&] { return !Locked(); }));
}

TEST_F(HamiProtocolTest, APodThatAsksForNothingOfOursKeepsItsLock) {
  Placed("p", kOne).asks = {{"hygon.com/dcunum", 1}};
  Lock("p");
  See("p");
  protocol().NodeSeen(NodeJson());
  Rest();

  EXPECT_TRUE(Locked());
}

TEST_F(HamiProtocolTest, TheLockOfAPodThatWentBeforeItsLockWasLookedAtIsLetGoOf) {
  Placed("p", kOne).annotations["hami.io/dcu-devices-to-allocate"] = "DCU-0,DCU,1,2:;";
  Lock("p");
  See("p");
  const kube::Pod gone = Seen("p");
  objects_.erase(PathOf("p"));

  protocol().PodGone(gone);

  EXPECT_TRUE(RunUntil([&] { return !Locked(); }));
}

TEST_F(HamiProtocolTest, ALockStaysUntilKubeletHasAskedForAllContainersOfItsPod) {
  Placed("p", kOne);
  Lock("p");
  bool awaits = true;
  protocol().Serve({"nvidia.com/gpu"}, [&](const kube::Pod&) { return awaits; });
  See("p");
  protocol().Claimed("uid-p");
  Rest();
  EXPECT_TRUE(Locked());

  awaits = false;
  protocol().Claimed("uid-p");
  EXPECT_TRUE(RunUntil([&] { return !Locked(); }));
}

TEST_F(HamiProtocolTest, AnEndedPodKeepsNoLockThoughKubeletNeverAsked) {
  Placed("p", kOne);
  Lock("p");
  protocol().Serve({"nvidia.com/gpu"}, [&](const kube::Pod&) { return true; });
  See("p");
  Pod("p").phase = "Failed";
  See("p");
  EXPECT_TRUE(RunUntil([&] { return !Locked(); }));
}

TEST_F(HamiProtocolTest, APodIsEvictedWhereThatIsWantedOfARefusal) {
  Placed("p", kOne);
  protocol().Refused({.pod_uid = "uid-p",
                      .container = "main",
                      .error = {Reason::kWrongMatch, "another's"},
                      .for_good = true,
                      .evict = true});
  See("p");
  const std::string target = "POST " + PathOf("p") + "/eviction";
  const auto evicted = [&] {
    const auto targets = Targets();
    return std::ranges::count(targets, target) > 0;
  };
  EXPECT_TRUE(RunUntil(evicted));
  EXPECT_TRUE(RunUntilPhase("p", "failed"));
}

}  // namespace
}  // namespace tessera
