// SPDX-License-Identifier: Apache-2.0
#include "kubelet/register_call.h"

#include <grpcpp/grpcpp.h>

#include "kubelet/channel.h"
#include "kubelet/wire.h"
#include "proto/deviceplugin/deviceplugin.grpc.pb.h"

namespace tessera::kubelet {

struct RegisterCall::State {
  grpc::ClientContext context;
  v1beta1::RegisterRequest request;
};

std::unique_ptr<RegisterCall> RegisterCall::Start(os::Workers& workers,
                                                  const RegisterParameters& parameters,
                                                  std::function<void(Status)> done) {
  auto state = std::make_shared<State>();
  state->context.set_deadline(std::chrono::system_clock::now() + parameters.timeout);
  state->request.set_version("v1beta1");
  state->request.set_endpoint(parameters.endpoint);
  state->request.set_resource_name(parameters.resource);
  auto* options = state->request.mutable_options();
  options->set_pre_start_required(parameters.options.pre_start_required);
  options->set_get_preferred_allocation_available(
      parameters.options.preferred_allocation_available);
  workers.Run([state, socket = parameters.kubelet_socket, done = std::move(done)] {
    const auto stub = v1beta1::Registration::NewStub(FreshChannel(socket));
    v1beta1::Empty response;
    const grpc::Status status = stub->Register(&state->context, state->request, &response);
    if (status.ok()) return done({});
    done(Fail(FromGrpc(status, "registering " + state->request.resource_name())));
  });
  return std::unique_ptr<RegisterCall>(new RegisterCall(std::move(state)));
}

RegisterCall::~RegisterCall() {
  state_->context.TryCancel();
}

}  // namespace tessera::kubelet
