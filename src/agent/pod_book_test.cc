// SPDX-License-Identifier: Apache-2.0
#include "agent/pod_book.h"

#include <gtest/gtest.h>

#include <optional>

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

}  // namespace
}  // namespace tessera::agent
