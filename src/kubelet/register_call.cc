// SPDX-License-Identifier: Apache-2.0
#include "kubelet/register_call.h"

#include <grpcpp/grpcpp.h>

#include "kubelet/channel.h"
#include "kubelet/wire.h"
#include "proto/deviceplugin/deviceplugin.grpc.pb.h"

namespace tessera::kubelet {

struct RegisterCall::State {
  explicit State(const std::string& kubelet_socket) : channel(FreshChannel(kubelet_socket)) {}
  const std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<v1beta1::Registration::Stub> stub;
  grpc::ClientContext context;
  v1beta1::RegisterRequest request;
  v1beta1::Empty response;
};

RegisterCall::RegisterCall(const std::string& kubelet_socket)
    : state_(std::make_shared<State>(kubelet_socket)) {
  (void)state_->channel->GetState(true);  // which makes it connect
}

void RegisterCall::Send(const RegisterParameters& parameters, std::function<void(Status)> done) {
  const std::shared_ptr<State>& state = state_;
  state->stub = v1beta1::Registration::NewStub(state->channel);
  state->context.set_deadline(std::chrono::system_clock::now() + parameters.timeout);
  state->request.set_version("v1beta1");
  state->request.set_endpoint(parameters.endpoint);
  state->request.set_resource_name(parameters.resource);
  auto* options = state->request.mutable_options();
  options->set_pre_start_required(parameters.options.pre_start_required);
  options->set_get_preferred_allocation_available(
      parameters.options.preferred_allocation_available);
  state->stub->async()->Register(
      &state->context, &state->request, &state->response,
      [state, resource = parameters.resource, done = std::move(done)](grpc::Status status) {
        if (status.ok()) {
          done({});
        } else {
          done(Fail(FromGrpc(status, "registering " + resource)));
        }
      });
}

RegisterCall::~RegisterCall() {
  state_->context.TryCancel();
}

}  // namespace tessera::kubelet
