// SPDX-License-Identifier: Apache-2.0
// Starts that wait for reports about their pods hold no thread and delay no other call.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <future>
#include <latch>
#include <mutex>

#include "agent/allocator.h"
#include "fraction/grant_requests_under_test.h"
#include "hami/vendor.h"
#include "kubelet/answered_test.h"

namespace tessera::agent {
namespace {

class SilentBackend : public Backend {
 public:
  Status Start(BackendEvents&) override { return {}; }
  void Stop() override {}
  Result<std::vector<Device>> Scan() override { return std::vector<Device>(); }
  Evidence Check(const Device&) override { return {}; }
};

// The test decides when pods become known.
class AwaitedPodsTest : public GrantRequestsTest {
 protected:
  static constexpr int kPods = 100;

  AwaitedPodsTest() {
    SetParts(kPods / 2);
    rendering_.fractions->requests = hami::kNvidia.Requests();
    allocator_->Set({std::make_shared<Offer>(offer_), rendering_, Placement::kSpread,
                     std::make_shared<SilentBackend>(), directory_ + "/cdi",
                     std::make_shared<cdi::Parts>()});
    SetLookup([this](const std::string& uid, Duration, PodCache::Answer answer) {
      std::lock_guard lock(mutex_);
      sought_[uid] = std::move(answer);
      all_sought_.count_down();
    });
  }

  void SetLookup(PodCache::Lookup seek) { context_->pods.SetLookup(std::move(seek)); }
  std::future<Status> PreStart(const std::string& id) {
    auto answer = std::make_shared<std::promise<Status>>();
    allocator_->PreStart(
        {id}, [] { return true; },
        [answer](Status status) { answer->set_value(std::move(status)); });
    return answer->get_future();
  }

  http::Metrics metrics_;
  std::mutex mutex_;
  std::map<std::string, PodCache::Answer> sought_;  // by UID; under mutex_
  std::latch all_sought_{kPods};
  std::shared_ptr<Allocator> allocator_ = std::make_shared<Allocator>(
      kGpu, std::make_shared<os::Workers>(1),
      std::make_shared<GrantBinder>(directory_ + "/kubelet", directory_ + "/state",
                                    os::Root(directory_), context_, inbox_),
      context_, metrics_, [](const Offer&, const std::vector<std::string>&) { return Status(); });
};

TEST_F(AwaitedPodsTest, HoldNoThreadWhileTheyAreWaitedFor) {
  std::vector<std::future<Status>> starts;
  for (int i = 0; i < kPods; ++i) {
    Hold(fmt::format("uid-{}", i), "app", {Share(i % 2, i / 2)}, AnswerNaming(NewGrantName()));
    Know(fmt::format("uid-{}", i), {Asking("app", 20, 2)}, Chosen(i % 2, 20, 2) + ";");
    context_->Remove(*pods_[fmt::format("uid-{}", i)]);
  }
  for (int i = 0; i < kPods; ++i) starts.push_back(PreStart(Share(i % 2, i / 2)));
  all_sought_.wait();

  EXPECT_TRUE(kubelet::Answered(*allocator_, {Share(0, 0)}));
  for (auto& [uid, answer] : sought_) answer(pods_[uid]);
  for (std::future<Status>& start : starts) EXPECT_TRUE(start.get());
}

TEST_F(AwaitedPodsTest, OneThatDoesNotComeIsTheAnswer) {
  Hold("uid-1", "app", {Share(0, 0)}, AnswerNaming(kOne));
  SetLookup([](const std::string&, Duration within, const PodCache::Answer& answer) {
    answer(Fail(Reason::kNotFound, "not after {} ms", within.count()));
  });

  const Status status = PreStart(Share(0, 0)).get();
  ASSERT_FALSE(status);
  EXPECT_EQ(
      status.error().message,
      "nvidia.com/gpu: the API server does not say what pod uid-1 asks for: not after 2000 ms");
  EXPECT_EQ(LimitsOf(kOne), "no document");
}

TEST_F(AwaitedPodsTest, OnesWithTheirGrantsHaveNoSayInWhichSharesArePreferred) {
  const auto place = [this](const std::string& uid, size_t gpu) {
    Know(uid, {Asking("app", 20, 2)}, Chosen(gpu, 20, 2) + ";");
    kube::Pod pending = *pods_[uid];
    pending.phase = kube::Pod::Phase::kPending;
    context_->pods.Put(pending);
  };
  place("uid-1", 0);
  Hold("uid-1", "app", {Share(0, 0)}, AnswerNaming(kOne));
  ASSERT_TRUE(PreStart(Share(0, 0)).get());
  place("uid-2", 1);

  EXPECT_EQ(allocator_->Prefer({Share(0, 1), Share(1, 1)}, {}, 1),
            std::vector<std::string>{Share(1, 1)});
}

}  // namespace
}  // namespace tessera::agent
