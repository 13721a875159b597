// SPDX-License-Identifier: Apache-2.0
#include "binding/pod_cache.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <optional>

namespace tessera {
namespace {

TEST(PodCache, KnowsPodsByTheUidThatKubeletKnowsThemBy) {
  PodCache pods;
  pods.Put({.uid = "mirror", .name = "static", .mirrored = "uid-1"});

  ASSERT_NE(pods.Find("uid-1"), nullptr);
  EXPECT_EQ(pods.Find("uid-1")->name, "static");
  EXPECT_EQ(pods.Find("mirror"), nullptr);
  pods.Remove({.uid = "mirror", .mirrored = "uid-1"});
  EXPECT_EQ(pods.Find("uid-1"), nullptr);
}

TEST(PodCache, WhatIsNotKnownIsSoughtAndWhatIsKnownIsNot) {
  PodCache pods;
  std::string sought;
  const auto seek = [&](const std::string& uid, Duration within, const PodCache::Answer& answer) {
    sought += fmt::format("{} for {} ms;", uid, within.count());
    answer(std::make_shared<const kube::Pod>(kube::Pod{.uid = uid, .name = "found"}));
  };
  pods.SetLookup(seek);
  pods.Put({.uid = "uid-1", .name = "known"});

  std::string answered;
  const auto note = [&](const Result<PodPtr>& pod) { answered += (*pod)->name + ";"; };
  pods.Await("uid-1", Duration(5), note);
  pods.Await("uid-2", Duration(7), note);
  EXPECT_EQ(answered, "known;found;");
  EXPECT_EQ(sought, "uid-2 for 7 ms;");
}

TEST(PodCache, PodsWaitForTheirDevicesUntilTheirPhaseSaysOtherwise) {
  PodCache pods;
  kube::Pod pod{.uid = "uid-1", .phase = kube::Pod::Phase::kPending};
  pods.Put(pod);
  EXPECT_EQ(pods.PodsToAllocate().size(), 0U);
  pod.annotations["hami.io/bind-phase"] = "allocating";
  pods.Put(pod);
  EXPECT_EQ(pods.PodsToAllocate().size(), 1U);
  pod.annotations["hami.io/bind-phase"] = "success";
  pods.Put(pod);
  EXPECT_EQ(pods.PodsToAllocate().size(), 0U);
}

TEST(PodCache, APlacedPodWithoutAPhaseWaitsForItsDevicesUntilItRuns) {
  PodCache pods;
  kube::Pod pod{.uid = "uid-1", .phase = kube::Pod::Phase::kPending};
  pod.annotations["hami.io/vgpu-node"] = "worker-1";
  pods.Put(pod);
  EXPECT_EQ(pods.PodsToAllocate().size(), 1U);
  pod.phase = kube::Pod::Phase::kRunning;
  pods.Put(pod);
  EXPECT_EQ(pods.PodsToAllocate().size(), 0U);
}

TEST(PodCache, WithoutAnApiServerNoPodIsKnown) {
  PodCache pods;
  std::optional<Error> error;
  pods.Await("uid-1", Duration(5), [&](const Result<PodPtr>& pod) { error = pod.error(); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->reason, Reason::kNotPlaced);
  EXPECT_EQ(error->message,
            "pod uid-1: the agent needs the pod's requests, and no API server is configured");
}

TEST(PodCache, OneThatHasEndedIsKnownAsThatWithoutWhatItSaid) {
  PodCache pods;
  kube::Pod pod{.uid = "uid-1", .pod_namespace = "team", .name = "a"};
  pod.annotations = {{"hami.io/bind-phase", "allocating"}};
  pods.Put(pod);
  pods.Remove(pod);
  EXPECT_EQ(pods.Find("uid-1"), nullptr);

  pod.phase = kube::Pod::Phase::kSucceeded;
  pods.MarkEnded(std::make_shared<const kube::Pod>(pod));

  ASSERT_NE(pods.Find("uid-1"), nullptr);
  EXPECT_TRUE(pods.Find("uid-1")->HasEnded());
  EXPECT_TRUE(pods.Find("uid-1")->annotations.empty());
  EXPECT_EQ(pods.FindNamed("team/a"), nullptr);
  for (int i = 0; i < 512; ++i) {
    pod.uid = fmt::format("other-{}", i);
    pods.MarkEnded(std::make_shared<const kube::Pod>(pod));
  }
  EXPECT_EQ(pods.Find("uid-1"), nullptr);
}

}  // namespace
}  // namespace tessera
