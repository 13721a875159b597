// SPDX-License-Identifier: Apache-2.0
#include "kubelet/callback_threads.h"

#include <gtest/gtest.h>

#include <future>

#include "kubelet/pod_resources.h"

namespace tessera::kubelet {
namespace {

// Each call is the only one, and its end lets go of the only channel: on one of gRPC's threads when
// the owner was quicker.
TEST(CallbackThreads, CallsMayEndInTheirOwnCallback) {
  const CallbackThreads threads;
  for (int i = 0; i < 300; ++i) {
    std::promise<bool> answered;
    auto call = PodResourcesCall::Ask(
        "/nowhere/kubelet.sock", Duration(5'000),
        [&](const Result<PodResourcesView>& view) { answered.set_value(view.has_value()); });
    EXPECT_FALSE(answered.get_future().get());
    call.reset();
  }
}

}  // namespace
}  // namespace tessera::kubelet
