// SPDX-License-Identifier: Apache-2.0
#include "agent/bind/pod_book.h"

#include <gtest/gtest.h>

#include <future>
#include <optional>
#include <thread>

namespace tessera::agent {
namespace {

TEST(PodBook, KnowsPodsByTheUidThatKubeletKnowsThemBy) {
  PodBook book;
  book.Put({.uid = "mirror", .name = "static", .mirrored = "uid-1"});

  ASSERT_NE(book.Find("uid-1"), nullptr);
  EXPECT_EQ(book.Find("uid-1")->name, "static");
  EXPECT_EQ(book.Find("mirror"), nullptr);
  book.Take({.uid = "mirror", .mirrored = "uid-1"});
  EXPECT_EQ(book.Find("uid-1"), nullptr);
}

TEST(PodBook, WhatIsNotKnownIsSoughtAndWhatIsKnownIsNot) {
  PodBook book;
  std::string sought;
  const auto seek = [&](const std::string& uid, Duration within, const PodBook::Answer& answer) {
    sought += fmt::format("{} for {} ms;", uid, within.count());
    answer(std::make_shared<const kube::Pod>(kube::Pod{.uid = uid, .name = "found"}));
  };
  book.SetListener(std::make_shared<PodBook::Listener>(PodBook::Listener{.seek = seek}));
  book.Put({.uid = "uid-1", .name = "known"});

  std::string answered;
  const auto note = [&](const Result<PodPtr>& pod) { answered += (*pod)->name + ";"; };
  book.Await("uid-1", Duration(5), note);
  book.Await("uid-2", Duration(7), note);
  EXPECT_EQ(answered, "known;found;");
  EXPECT_EQ(sought, "uid-2 for 7 ms;");
}

TEST(PodBook, AMirrorPodThatIsBeingDeletedIsNoneThatAnAllocateMayBeFor) {
  PodBook book;
  book.Put({.uid = "uid-1", .name = "victim", .phase = kube::Pod::Phase::kPending});
  book.Put({.uid = "uid-2",
            .name = "made-up",
            .mirrored = "abc",
            .phase = kube::Pod::Phase::kPending,
            .deleting = true});
  std::vector<std::string> names;
  (void)book.Claim(
      "nvidia.com/gpu",
      [&](std::span<const PodPtr> pods, const PodBook::Answered&) -> Result<VgpuMatch> {
        for (const PodPtr& pod : pods) names.push_back(pod->name);
        return Fail(Reason::kNotMatched, "none");
      },
      Duration(0));
  EXPECT_EQ(names, std::vector<std::string>{"victim"});
}

TEST(PodBook, PodsWaitForTheirDevicesUntilTheirPhaseSaysOtherwise) {
  PodBook book;
  kube::Pod pod{.uid = "uid-1", .phase = kube::Pod::Phase::kPending};
  book.Put(pod);
  EXPECT_EQ(book.Waiting().size(), 0U);
  pod.annotations["hami.io/bind-phase"] = "allocating";
  book.Put(pod);
  EXPECT_EQ(book.Waiting().size(), 1U);
  pod.annotations["hami.io/bind-phase"] = "success";
  book.Put(pod);
  EXPECT_EQ(book.Waiting().size(), 0U);
}

// The pods and who is answered, as a matcher sees them.
PodBook::Match First(std::string* seen) {
  return
      [seen](std::span<const PodPtr> pods, const PodBook::Answered& answered) -> Result<VgpuMatch> {
        *seen += ";";
        for (const PodPtr& pod : pods) *seen += " " + pod->uid;
        for (const auto& [uid, container] : answered) *seen += " " + uid + "/" + container;
        if (pods.empty()) return Fail(Reason::kNotMatched, "nobody");
        return VgpuMatch{.pod_uid = pods.front()->uid, .container = "app"};
      };
}

TEST(PodBook, WhatIsClaimedCountsAsAnsweredUntilItsPodIsGone) {
  PodBook book;
  const kube::Pod pod{.uid = "uid-1", .phase = kube::Pod::Phase::kPending};
  book.Put(pod);
  book.Put({.uid = "uid-2", .phase = kube::Pod::Phase::kRunning});
  book.Put({.uid = "uid-3", .phase = kube::Pod::Phase::kFailed});
  book.SetHeld({{"a.com/b", {{"uid-4", "main"}}}, {"a.com/c", {{"uid-5", "main"}}}});
  std::string seen;
  EXPECT_TRUE(book.Claim("a.com/b", First(&seen), Duration(0)));
  EXPECT_TRUE(book.Claim("a.com/b", First(&seen), Duration(0)));
  book.Take(pod);
  EXPECT_FALSE(book.Claim("a.com/b", First(&seen), Duration(0)));
  EXPECT_EQ(seen, "; uid-1 uid-4/main; uid-1 uid-1/app uid-4/main; uid-4/main");
}

TEST(PodBook, APodThatTheWatchTellsOfAfterKubeletIsWaitedFor) {
  PodBook book;
  std::string claimed;
  PodBook::Listener listener;
  listener.claimed = [&](const std::string& uid) { claimed += uid; };
  book.SetListener(std::make_shared<PodBook::Listener>(listener));
  std::string seen;
  std::promise<void> asked;
  const auto match = [&](std::span<const PodPtr> pods, const PodBook::Answered& answered) {
    if (pods.empty() && seen.empty()) asked.set_value();
    return First(&seen)(pods, answered);
  };
  std::thread watch([&] {
    asked.get_future().wait();
    book.Put({.uid = "uid-1"});
  });
  EXPECT_TRUE(book.Claim("a.com/b", match, Duration(60'000)));
  watch.join();
  EXPECT_EQ(claimed, "uid-1");
  EXPECT_EQ(seen, ";; uid-1");
}

TEST(PodBook, APodAwaitsItsClaimsUntilAllOfItsContainersHaveThem) {
  PodBook book;
  book.SetClaimed({"a.com/b"});
  kube::Pod pod{.uid = "uid-1", .phase = kube::Pod::Phase::kPending};
  pod.containers = {{.name = "one", .limits = {{"a.com/b", "1"}}},
                    {.name = "app", .requests = {{"a.com/b", "1"}}},
                    {.name = "none", .limits = {{"a.com/c", "1"}}}};
  book.Put(pod);
  book.SetHeld({{"a.com/b", {{"uid-1", "one"}}}});
  EXPECT_TRUE(book.AwaitsClaim(pod));
  std::string seen;
  EXPECT_TRUE(book.Claim("a.com/b", First(&seen), Duration(0)));
  EXPECT_FALSE(book.AwaitsClaim(pod));

  book.SetHeld({});
  EXPECT_TRUE(book.AwaitsClaim(pod));
  pod.phase = kube::Pod::Phase::kRunning;
  EXPECT_FALSE(book.AwaitsClaim(pod));
}

TEST(PodBook, WithoutAnApiServerNoPodIsKnown) {
  PodBook book;
  std::optional<Error> error;
  book.Await("uid-1", Duration(5), [&](const Result<PodPtr>& pod) { error = pod.error(); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->reason, Reason::kNotPlaced);
  EXPECT_EQ(error->message,
            "pod uid-1: what its containers may have is said by its pod, and there is no API "
            "server to ask for that");
}

TEST(PodBook, OneThatHasEndedIsKnownAsThatWithoutWhatItSaid) {
  PodBook book;
  kube::Pod pod{.uid = "uid-1", .pod_namespace = "team", .name = "a"};
  pod.annotations = {{"hami.io/bind-phase", "allocating"}};
  book.Put(pod);
  book.Take(pod);
  EXPECT_EQ(book.Find("uid-1"), nullptr);

  pod.phase = kube::Pod::Phase::kSucceeded;
  book.End(std::make_shared<const kube::Pod>(pod));

  ASSERT_NE(book.Find("uid-1"), nullptr);
  EXPECT_TRUE(book.Find("uid-1")->HasEnded());
  EXPECT_TRUE(book.Find("uid-1")->annotations.empty());
  EXPECT_EQ(book.FindNamed("team/a"), nullptr);
  for (int i = 0; i < 512; ++i) {
    pod.uid = fmt::format("other-{}", i);
    book.End(std::make_shared<const kube::Pod>(pod));
  }
  EXPECT_EQ(book.Find("uid-1"), nullptr);
}

}  // namespace
}  // namespace tessera::agent
