// SPDX-License-Identifier: Apache-2.0
#include "kubelet/callback_threads.h"

#include <gtest/gtest.h>

#include <future>

#include "kubelet/pod_resources.h"

namespace tessera::kubelet {
namespace {

// A call to nobody, which is the only one there is; whoever holds it lets go before the callback
// returns, so that the callback's thread ends the last channel.
void CallAndLetGo() {
  std::promise<std::unique_ptr<PodResourcesCall>> made;
  std::promise<bool> answered;
  made.set_value(PodResourcesCall::Ask("/nowhere/kubelet.sock", Duration(5'000),
                                       [&](const Result<PodResourcesView>& view) {
                                         made.get_future().get().reset();
                                         answered.set_value(view.has_value());
                                       }));
  EXPECT_FALSE(answered.get_future().get());
}

TEST(CallbackThreads, TheOnlyCallMayEndOnOneOfThem) {
  for (int i = 0; i < 500; ++i) CallAndLetGo();
}

}  // namespace
}  // namespace tessera::kubelet
