// SPDX-License-Identifier: Apache-2.0
#include "kubelet/call_queue.h"

#include <grpcpp/alarm.h>
#include <gtest/gtest.h>

#include <vector>

namespace tessera::kubelet {
namespace {

class CallQueueTest : public testing::Test {
 protected:
  // Gives gRPC a tag that returns at once.
  void Ask(Step step) {
    alarms_.push_back(std::make_unique<grpc::Alarm>());
    alarms_.back()->Set(&*queue_, std::chrono::system_clock::now(), queue_.Then(std::move(step)));
  }

  grpc::ServerBuilder builder_;
  const std::unique_ptr<CallQueue> made_ = CallQueue::Make(builder_).value();
  CallQueue& queue_ = *made_;
  std::vector<std::unique_ptr<grpc::Alarm>> alarms_;
};

TEST_F(CallQueueTest, TheEndWaitsForTheStepsThatStepsAskFor) {
  std::vector<int> taken;
  Ask([&](bool) {
    Ask([&](bool) {
      Ask([&](bool) { taken.push_back(3); });
      taken.push_back(2);
    });
    taken.push_back(1);
  });

  queue_.End();

  EXPECT_EQ(taken, (std::vector{1, 2, 3}));
}

TEST_F(CallQueueTest, AForgottenTagIsNotWaitedForAndItsStepIsGone) {
  auto held = std::make_shared<int>();
  void* tag = queue_.Then([held](bool) {});
  Ask([&](bool) { queue_.Forget(tag); });

  queue_.End();

  EXPECT_EQ(held.use_count(), 1);
}

// gRPC's own entry in the queue uses the server. If the server was freed before the entry was
// taken, one end in fifty crashed.
TEST(CallQueue, TheEndWaitsForWhatGrpcItselfHasInTheQueue) {
  for (int i = 0; i < 2'000; ++i) {
    grpc::ServerBuilder builder;
    const auto queue = CallQueue::Make(builder).value();
    const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
    server->Shutdown();

    queue->End();
  }
}

}  // namespace
}  // namespace tessera::kubelet
