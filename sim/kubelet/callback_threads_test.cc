// SPDX-License-Identifier: Apache-2.0
#include "sim/kubelet/callback_threads.h"

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <future>

#include "kubelet/channel.h"
#include "proto/podresources/podresources.grpc.pb.h"

namespace tessera::kubelet::embedded {
namespace {

// A call without a server, over the only channel. Its callback drops the call, so the callback's
// thread ends the last channel.
void CallAndLetGo() {
  struct Call {
    std::unique_ptr<v1::PodResourcesLister::Stub> stub =
        v1::PodResourcesLister::NewStub(FreshChannel("/nowhere/kubelet.sock"));
    grpc::ClientContext context;
    v1::ListPodResourcesRequest request;
    v1::ListPodResourcesResponse response;
  };
  std::promise<bool> answered;
  auto call = std::make_shared<Call>();
  Call& calling = *call;
  calling.stub->async()->List(
      &calling.context, &calling.request, &calling.response,
      [&answered, call = std::move(call)](const grpc::Status& status) mutable {
        call.reset();
        answered.set_value(status.ok());
      });
  EXPECT_FALSE(answered.get_future().get());
}

TEST(CallbackThreads, TheOnlyCallMayEndOnOneOfThem) {
  KeepCallbackThreads();
  for (int i = 0; i < 500; ++i) CallAndLetGo();
}

}  // namespace
}  // namespace tessera::kubelet::embedded
