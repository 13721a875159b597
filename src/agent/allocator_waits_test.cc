// SPDX-License-Identifier: Apache-2.0
// Containers whose start waits for what others say of their pods: no thread waits with them, and
// nothing else on the node does.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <future>
#include <latch>
#include <mutex>

#include "agent/allocator.h"
#include "agent/bind/grant_requests_under_test.h"

namespace tessera::agent {
namespace {

class SilentBackend : public Backend {
 public:
  Status Start(BackendEvents&) override { return {}; }
  void Stop() override {}
  Result<std::vector<Device>> Scan() override { return std::vector<Device>(); }
  Evidence Check(const Device&) override { return {}; }
};

// Whose pods are known once the test says so.
class AwaitedPodsTest : public GrantRequestsTest {
 protected:
  static constexpr int kPods = 100;

  AwaitedPodsTest() {
    SetParts(kPods / 2);
    rendering_.vgpu->requests.emplace();
    allocator_->Set({std::make_shared<Offer>(offer_), rendering_, Placement::kSpread,
                     std::make_shared<SilentBackend>(), directory_ + "/cdi",
                     std::make_shared<cdi::Parts>()});
    SetSeek([this](const std::string& uid, Duration, PodBook::Answer answer) {
      std::lock_guard lock(mutex_);
      sought_[uid] = std::move(answer);
      all_sought_.count_down();
    });
  }

  void SetSeek(PodBook::Seek seek) {
    book_->SetListener(std::make_shared<PodBook::Listener>(
        PodBook::Listener{.seek = std::move(seek),
                          .bound = [](const HamiProtocol::Given&) {},
                          .refused = [](const HamiProtocol::Refusal&) {}}));
  }
  std::future<Status> PreStart(const std::string& id) {
    auto answer = std::make_shared<std::promise<Status>>();
    allocator_->PreStart(
        {id}, [] { return true; },
        [answer](Status status) { answer->set_value(std::move(status)); });
    return answer->get_future();
  }

  http::Metrics metrics_;
  std::mutex mutex_;
  std::map<std::string, PodBook::Answer> sought_;  // by UID; under mutex_
  std::latch all_sought_{kPods};
  std::shared_ptr<Allocator> allocator_ = std::make_shared<Allocator>(
      kGpu, std::make_shared<os::Workers>(1),
      std::make_shared<GrantBinder>(directory_ + "/kubelet", directory_ + "/state",
                                    os::Root(directory_), book_, inbox_),
      book_, metrics_, [](const std::vector<std::string>&) {});
};

TEST_F(AwaitedPodsTest, HoldNoThreadWhileTheyAreWaitedFor) {
  std::vector<std::future<Status>> starts;
  for (int i = 0; i < kPods; ++i) {
    Hold(fmt::format("uid-{}", i), "app", {Share(i % 2, i / 2)}, AnswerNaming(NewGrantName()));
    Know(fmt::format("uid-{}", i), {Asking("app", 20, 2)}, Chosen(i % 2, 20, 2) + ";");
    book_->Take(*pods_[fmt::format("uid-{}", i)]);
  }
  for (int i = 0; i < kPods; ++i) starts.push_back(PreStart(Share(i % 2, i / 2)));
  all_sought_.wait();

  EXPECT_TRUE(allocator_->Allocate({Share(0, 0)}));
  for (auto& [uid, answer] : sought_) answer(pods_[uid]);
  for (std::future<Status>& start : starts) EXPECT_TRUE(start.get());
}

TEST_F(AwaitedPodsTest, OneThatDoesNotComeIsTheAnswer) {
  Hold("uid-1", "app", {Share(0, 0)}, AnswerNaming(kOne));
  SetSeek([](const std::string&, Duration within, const PodBook::Answer& answer) {
    answer(Fail(Reason::kNotFound, "not after {} ms", within.count()));
  });

  const Status status = PreStart(Share(0, 0)).get();
  ASSERT_FALSE(status);
  EXPECT_EQ(
      status.error().message,
      "nvidia.com/gpu: the API server does not say what pod uid-1 asks for: not after 2000 ms");
  EXPECT_EQ(LimitsOf(kOne), "no document");
}

// With a kubelet whose checkpoint nobody knows.
class AwaitedListTest : public GrantRequestsTest {
 protected:
  void List(const std::string& pod, const std::string& container, std::vector<std::string> ids) {
    holdings_.push_back({.pod_namespace = "team",
                         .pod = pod,
                         .pod_uid = "",
                         .container = container,
                         .resource = kGpu,
                         .share_ids = std::move(ids)});
  }

  std::vector<Holding> holdings_;
};

TEST_F(AwaitedListTest, HoldsNoThreadWhileKubeletMakesIt) {
  SetParts(2);
  Lose();
  std::latch asked(1);
  std::latch go_on(1);
  const auto list = [&] {
    asked.count_down();
    go_on.wait();
    return holdings_;
  };
  const auto lists = std::make_shared<kubelet::PodLists>(list, clock_);
  const auto binder =
      std::make_shared<GrantBinder>(directory_ + "/kubelet", directory_ + "/state",
                                    os::Root(directory_), book_, inbox_, clock_, lists);
  http::Metrics metrics;
  const auto allocator =
      std::make_shared<Allocator>(kGpu, std::make_shared<os::Workers>(1), binder, book_, metrics,
                                  [](const std::vector<std::string>&) {});
  allocator->Set({std::make_shared<Offer>(offer_), rendering_, Placement::kSpread,
                  std::make_shared<SilentBackend>(), directory_ + "/cdi",
                  std::make_shared<cdi::Parts>()});
  const auto start = [&](const std::string& id) {
    auto answer = std::make_shared<std::promise<std::string>>();
    allocator->PreStart(
        {id}, [] { return true; },
        [answer](const Status& status) {
          answer->set_value(status ? "started" : status.error().message);
        });
    return answer->get_future();
  };

  const Grant grant = allocator->Allocate({Share(0, 0)}).value();
  List("a", "app", {Share(0, 0)});
  auto first = start(Share(0, 0));
  asked.wait();
  auto second = start(Share(0, 1));
  EXPECT_TRUE(allocator->Allocate({Share(1, 1)}));
  go_on.count_down();

  EXPECT_EQ(first.get(), "started");
  EXPECT_EQ(PodIn(grant.annotations.at(kGrantAnnotation)), "team/a app");
  EXPECT_EQ(second.get(),
            fmt::format("nvidia.com/gpu: kubelet's checkpoint is of a shape that this agent does "
                        "not know (a newer one may), and its pod-resources API names no container "
                        "that holds {}, as it never names init containers",
                        Share(0, 1)));
}

}  // namespace
}  // namespace tessera::agent
