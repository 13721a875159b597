// SPDX-License-Identifier: Apache-2.0
#include "kubelet/call_queue.h"

#include <grpcpp/alarm.h>
#include <gtest/gtest.h>

#include <vector>

#include "kubelet/start_grpc.h"

namespace tessera::kubelet {
namespace {

class CallQueueTest : public testing::Test {
 protected:
  CallQueueTest() { StartGrpc(); }

  // Something for gRPC to bring back at once.
  void Ask(Step step) {
    alarms_.push_back(std::make_unique<grpc::Alarm>());
    alarms_.back()->Set(&*queue_, std::chrono::system_clock::now(), queue_.Then(std::move(step)));
  }

  grpc::ServerBuilder builder_;
  const std::unique_ptr<CallQueue> made_ = CallQueue::Make(builder_).value();
  CallQueue& queue_ = *made_;
  std::vector<std::unique_ptr<grpc::Alarm>> alarms_;
};

TEST_F(CallQueueTest, DrainWaitsForTheStepsThatStepsAskFor) {
  std::vector<int> taken;
  Ask([&](bool) {
    Ask([&](bool) {
      Ask([&](bool) { taken.push_back(3); });
      taken.push_back(2);
    });
    taken.push_back(1);
  });

  queue_.Drain();

  EXPECT_EQ(taken, (std::vector{1, 2, 3}));
}

TEST_F(CallQueueTest, AForgottenTagIsNotWaitedForAndItsStepIsGone) {
  auto held = std::make_shared<int>();
  void* tag = queue_.Then([held](bool) {});
  Ask([&](bool) { queue_.Forget(tag); });

  queue_.Drain();

  EXPECT_EQ(held.use_count(), 1);
}

}  // namespace
}  // namespace tessera::kubelet
