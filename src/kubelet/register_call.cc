// SPDX-License-Identifier: Apache-2.0
#include "kubelet/register_call.h"

#include <grpcpp/grpcpp.h>

#include <mutex>

#include "kubelet/channel.h"
#include "kubelet/wire.h"
#include "proto/deviceplugin/deviceplugin.grpc.pb.h"

namespace tessera::kubelet {

struct RegisterCall::State {
  // The connecting worker and the sending worker race for the channel. The first one makes it while
  // the other waits.
  std::shared_ptr<grpc::Channel> Channel() {
    std::call_once(once, [this] { channel = FreshChannel(kubelet_socket); });
    return channel;
  }

  std::string kubelet_socket;
  grpc::ClientContext context{};
  v1beta1::RegisterRequest request{};
  std::once_flag once{};
  std::shared_ptr<grpc::Channel> channel{};
};

RegisterCall::RegisterCall(os::Workers& workers, const std::string& kubelet_socket)
    : workers_(workers), state_(new State{kubelet_socket}) {
  workers_.Run([state = state_] { (void)state->Channel()->GetState(true); });  // starts to connect
}

void RegisterCall::Send(const RegisterParameters& parameters, std::function<void(Status)> done) {
  state_->context.set_deadline(std::chrono::system_clock::now() + parameters.timeout);
  state_->request.set_version("v1beta1");
  state_->request.set_endpoint(parameters.endpoint);
  state_->request.set_resource_name(parameters.resource);
  auto* options = state_->request.mutable_options();
  options->set_pre_start_required(parameters.options.pre_start_required);
  options->set_get_preferred_allocation_available(
      parameters.options.preferred_allocation_available);
  workers_.Run([state = state_, done = std::move(done)] {
    const auto stub = v1beta1::Registration::NewStub(state->Channel());
    v1beta1::Empty response;
    const grpc::Status status = stub->Register(&state->context, state->request, &response);
    if (status.ok()) return done({});
    done(Fail(FromGrpc(status, "registering " + state->request.resource_name())));
  });
}

RegisterCall::~RegisterCall() {
  state_->context.TryCancel();
}

}  // namespace tessera::kubelet
