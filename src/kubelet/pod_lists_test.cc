// SPDX-License-Identifier: Apache-2.0
#include "kubelet/pod_lists.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <semaphore>

namespace tessera::kubelet {
namespace {

TEST(PodLists, WhoComesWhileOneIsUnderWayWaitsForTheNextAllTogether) {
  std::counting_semaphore<> begun(0);
  std::counting_semaphore<> go_on(0);
  std::atomic<int> asked = 0;
  PodLists lists([&] {
    const int number = ++asked;
    begun.release();
    go_on.acquire();
    return std::vector<Holding>{{.pod_namespace = "team",
                                 .pod = std::to_string(number),
                                 .pod_uid = "",
                                 .container = "main",
                                 .resource = "a.com/b",
                                 .share_ids = {"1"}}};
  });
  std::vector<std::promise<std::string>> answers(3);
  const auto ask = [&](size_t who) {
    lists.Ask([&answers, who](const Result<PodListPtr>& list) {
      answers[who].set_value((*list)->holdings.at(0).pod);
    });
  };
  ask(0);
  begun.acquire();
  ask(1);
  ask(2);
  go_on.release(2);

  EXPECT_EQ(answers[0].get_future().get(), "1");
  EXPECT_EQ(answers[1].get_future().get(), "2");
  EXPECT_EQ(answers[2].get_future().get(), "2");
}

TEST(PodLists, OneThatFailsIsTheAnswerAndTheNextOneIsAskedAnew) {
  std::atomic<int> asked = 0;
  PodLists lists([&]() -> Result<std::vector<Holding>> {
    if (++asked == 1) return Fail(Reason::kPodResourcesUnavailable, "not now");
    return std::vector<Holding>();
  });
  const auto ask = [&] {
    std::promise<std::string> answer;
    lists.Ask([&](const Result<PodListPtr>& list) {
      answer.set_value(list ? "a list" : list.error().message);
    });
    return answer.get_future().get();
  };

  EXPECT_EQ(ask(), "not now");
  EXPECT_EQ(ask(), "a list");
}

}  // namespace
}  // namespace tessera::kubelet
