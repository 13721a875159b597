// SPDX-License-Identifier: Apache-2.0
#include "sim/kubelet/registration_service.h"

#include <grpcpp/grpcpp.h>

#include <filesystem>

#include "base/text.h"
#include "proto/deviceplugin/deviceplugin.grpc.pb.h"
#include "sim/kubelet/go_text.h"

namespace tessera::kubelet::embedded {
namespace {

constexpr Duration kStuckSlice{5};  // the longest delay until a caller that gave up is noticed

// The caller's deadline as a steady time; may be infinite.
Steady DeadlineOf(const grpc::CallbackServerContext& context) {
  auto deadline = context.deadline();
  if (deadline == std::chrono::system_clock::time_point::max()) return Steady::max();
  auto left = std::chrono::duration_cast<Duration>(deadline - std::chrono::system_clock::now());
  return SystemClock().Now() + left;
}

class RegistrationService : public v1beta1::Registration::CallbackService {
 public:
  RegistrationService(Core& core, PluginConnections& connections)
      : core_(core), connections_(connections) {}

  grpc::ServerUnaryReactor* Register(grpc::CallbackServerContext* context,
                                     const v1beta1::RegisterRequest* request,
                                     v1beta1::Empty*) override {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    // It blocks, so it must not run on gRPC's thread.
    core_.workers.Run([this, context, request, reactor, running = core_.outstanding.Begin()] {
      Status status = Handle(*context, *request);
      reactor->Finish(status ? grpc::Status::OK : Failure(*context, status.error().message));
    });
    return reactor;
  }

 private:
  Status Handle(grpc::CallbackServerContext& context, const v1beta1::RegisterRequest& request) {
    while (core_.stuck && !context.IsCancelled()) {
      if (core_.stopping.WaitFor(kStuckSlice)) break;
    }
    Status status = Check(request);
    if (status && !core_.silent) status = Connect(context, request);
    if (!status) {
      core_.Emit(
          KubeletEvent::Kind::kRegisterRefused, request.resource_name(),
          fmt::format("{} was refused: {}", request.resource_name(), status.error().message));
    }
    return status;
  }

  // A plain error of Go's handler reaches the caller as UNKNOWN, unless the caller gave up before.
  static grpc::Status Failure(const grpc::CallbackServerContext& context,
                              const std::string& message) {
    bool late = SystemClock().Now() >= DeadlineOf(context);
    return {late ? grpc::StatusCode::DEADLINE_EXCEEDED : grpc::StatusCode::UNKNOWN, message};
  }

  Status Check(const v1beta1::RegisterRequest& request) {
    MutexLock lock(core_.mutex);
    const std::string version = core_.api_version;
    lock.unlock();
    if (request.version() != version) {
      return Fail(Reason::kInvalid,
                  "requested API version {} is not supported by kubelet. Supported version is [{}]",
                  Quoted(request.version()), Quoted(version));
    }
    if (!IsExtendedResourceName(request.resource_name())) {
      return Fail(Reason::kInvalid, "the ResourceName {} is invalid",
                  Quoted(request.resource_name()));
    }
    return {};
  }

  Status Connect(grpc::CallbackServerContext& context, const v1beta1::RegisterRequest& request) {
    // Go joins the two even if the endpoint starts with a slash.
    std::string path = core_.directories.device_plugins() + "/" + request.endpoint();
    path = std::filesystem::path(path).lexically_normal().string();
    Steady asked = DeadlineOf(context);
    return connections_.Connect(request.resource_name(), path,
                                {.dial = SystemClock().Now() + kDialLimit,
                                 .call = asked,
                                 .cancelled = [&context] { return context.IsCancelled(); }});
  }

  Core& core_;
  PluginConnections& connections_;
};

}  // namespace

std::shared_ptr<grpc::Service> MakeRegistrationService(Core& core, PluginConnections& connections) {
  return std::make_shared<RegistrationService>(core, connections);
}

}  // namespace tessera::kubelet::embedded
