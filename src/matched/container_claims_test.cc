// SPDX-License-Identifier: Apache-2.0
#include "matched/container_claims.h"

#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "fraction/bind_context.h"

namespace tessera {
namespace {

// A matcher that records its arguments and takes the first pod.
ContainerClaims::Match First(std::string* seen) {
  return [seen](std::span<const PodPtr> pods,
                const ContainerClaims::Answered& answered) -> Result<FractionMatch> {
    *seen += ";";
    for (const PodPtr& pod : pods) *seen += " " + pod->uid;
    for (const auto& [uid, container] : answered) *seen += " " + uid + "/" + container;
    if (pods.empty()) return Fail(Reason::kNotMatched, "nobody");
    return FractionMatch{.pod_uid = pods.front()->uid, .container = "app"};
  };
}

TEST(ContainerClaims, AMirrorPodThatIsBeingDeletedIsNoneThatAnAllocateMayBeFor) {
  BindContext context;
  context.pods.Put({.uid = "uid-1", .name = "victim", .phase = kube::Pod::Phase::kPending});
  context.pods.Put({.uid = "uid-2",
                    .name = "made-up",
                    .mirrored = "abc",
                    .phase = kube::Pod::Phase::kPending,
                    .deleting = true});
  std::vector<std::string> names;
  (void)context.claims.Claim(
      "nvidia.com/gpu",
      [&](std::span<const PodPtr> pods, const ContainerClaims::Answered&) -> Result<FractionMatch> {
        for (const PodPtr& pod : pods) names.push_back(pod->name);
        return Fail(Reason::kNotMatched, "none");
      },
      Duration(0));
  EXPECT_EQ(names, std::vector<std::string>{"victim"});
}

TEST(ContainerClaims, WhatIsClaimedCountsAsAnsweredUntilItsPodIsGone) {
  BindContext context;
  const kube::Pod pod{.uid = "uid-1", .phase = kube::Pod::Phase::kPending};
  context.pods.Put(pod);
  context.pods.Put({.uid = "uid-2", .phase = kube::Pod::Phase::kRunning});
  context.pods.Put({.uid = "uid-3", .phase = kube::Pod::Phase::kFailed});
  context.claims.SetHeld({{"a.com/b", {{"uid-4", "main"}}}, {"a.com/c", {{"uid-5", "main"}}}});
  std::string seen;
  EXPECT_TRUE(context.claims.Claim("a.com/b", First(&seen), Duration(0)));
  EXPECT_TRUE(context.claims.Claim("a.com/b", First(&seen), Duration(0)));
  context.Remove(pod);
  EXPECT_FALSE(context.claims.Claim("a.com/b", First(&seen), Duration(0)));
  EXPECT_EQ(seen, "; uid-1 uid-4/main; uid-1 uid-1/app uid-4/main; uid-4/main");
}

TEST(ContainerClaims, APodThatTheWatchTellsOfAfterKubeletIsWaitedFor) {
  BindContext context;
  std::string claimed;
  BindEvents::Listener listener;
  listener.claimed = [&](const std::string& uid) { claimed += uid; };
  context.pods.SetLookup([](const std::string&, Duration, const PodCache::Answer&) {});
  context.events.SetListener(std::make_shared<BindEvents::Listener>(listener));
  std::string seen;
  std::promise<void> asked;
  const auto match = [&](std::span<const PodPtr> pods, const ContainerClaims::Answered& answered) {
    if (pods.empty() && seen.empty()) asked.set_value();
    return First(&seen)(pods, answered);
  };
  std::thread watch([&] {
    asked.get_future().wait();
    context.pods.Put({.uid = "uid-1"});
  });
  EXPECT_TRUE(context.claims.Claim("a.com/b", match, Duration(60'000)));
  watch.join();
  EXPECT_EQ(claimed, "uid-1");
  EXPECT_EQ(seen, ";; uid-1");
}

TEST(ContainerClaims, APodAwaitsItsClaimsUntilAllOfItsContainersHaveThem) {
  BindContext context;
  context.claims.SetClaimed({"a.com/b"});
  kube::Pod pod{.uid = "uid-1", .phase = kube::Pod::Phase::kPending};
  pod.containers = {{.name = "one", .limits = {{"a.com/b", "1"}}},
                    {.name = "app", .requests = {{"a.com/b", "1"}}},
                    {.name = "none", .limits = {{"a.com/c", "1"}}}};
  context.pods.Put(pod);
  context.claims.SetHeld({{"a.com/b", {{"uid-1", "one"}}}});
  EXPECT_TRUE(context.claims.AwaitsClaim(pod));
  std::string seen;
  EXPECT_TRUE(context.claims.Claim("a.com/b", First(&seen), Duration(0)));
  EXPECT_FALSE(context.claims.AwaitsClaim(pod));

  context.claims.SetHeld({});
  EXPECT_TRUE(context.claims.AwaitsClaim(pod));
  pod.phase = kube::Pod::Phase::kRunning;
  EXPECT_FALSE(context.claims.AwaitsClaim(pod));
}

}  // namespace
}  // namespace tessera
