// SPDX-License-Identifier: Apache-2.0
#include "kubelet/plugin_server.h"

#include <grpcpp/alarm.h>
#include <grpcpp/grpcpp.h>

#include <atomic>

#include "kubelet/listen.h"
#include "kubelet/streams.h"
#include "kubelet/wire.h"
#include "os/files.h"
#include "proto/deviceplugin/deviceplugin.grpc.pb.h"
#include "proto/pluginregistration/pluginregistration.grpc.pb.h"

namespace tessera::kubelet {
namespace {

// GetPreferredAllocation names every free id: 60,000 of them exceed gRPC's default of 4 MiB.
constexpr int kMaxRequestBytes = 64 * 1024 * 1024;
constexpr std::chrono::milliseconds kShutdownGrace{500};

std::vector<std::string> Strings(const google::protobuf::RepeatedPtrField<std::string>& field) {
  return {field.begin(), field.end()};
}

// kubelet waits 30 s and then says only that it waited; we answer before, with the reason.
constexpr std::chrono::seconds kPreStartLimit{25};

// The answer to one PreStartContainer call: finished once, by the handler, by the time limit or by
// cancellation, whichever is first, so that a reset that hangs cannot hold up the server's end.
class PreStartCall : public grpc::ServerUnaryReactor,
                     public std::enable_shared_from_this<PreStartCall> {
 public:
  void Begin() {
    self_ = shared_from_this();
    // The alarm keeps this function as long as it lives, and it lives in the call: the function
    // must let go of the call, or neither ever ends.
    auto hold = [self = self_](bool expired) mutable {
      const auto call = std::move(self);
      if (!expired) return;
      call->End(ToGrpc({Reason::kResetTimedOut, fmt::format("the device was not ready after {} s",
                                                            kPreStartLimit.count())}));
    };
    limit_.Set(std::chrono::system_clock::now() + kPreStartLimit, std::move(hold));
  }
  void End(const grpc::Status& status) {
    if (ended_.exchange(true)) return;
    limit_.Cancel();
    Finish(status);
  }
  void OnCancel() override { End(grpc::Status::CANCELLED); }
  void OnDone() override { self_.reset(); }

 private:
  std::atomic<bool> ended_{false};
  grpc::Alarm limit_;
  std::shared_ptr<PreStartCall> self_;
};

using Base = v1beta1::DevicePlugin;
using DevicePluginBase =
    Base::WithCallbackMethod_GetDevicePluginOptions<Base::WithRawCallbackMethod_ListAndWatch<
        Base::WithCallbackMethod_GetPreferredAllocation<Base::WithRawCallbackMethod_Allocate<
            Base::WithCallbackMethod_PreStartContainer<Base::Service>>>>>;

class DevicePluginService : public DevicePluginBase {
 public:
  DevicePluginService(PluginOptions options, std::shared_ptr<PluginHandler> handler,
                      std::shared_ptr<Streams> streams)
      : options_(options), handler_(std::move(handler)), streams_(std::move(streams)) {}

  grpc::ServerUnaryReactor* GetDevicePluginOptions(grpc::CallbackServerContext* context,
                                                   const v1beta1::Empty*,
                                                   v1beta1::DevicePluginOptions* out) override {
    out->set_pre_start_required(options_.pre_start_required);
    out->set_get_preferred_allocation_available(options_.preferred_allocation_available);
    return Done(context, grpc::Status::OK);
  }

  grpc::ServerWriteReactor<grpc::ByteBuffer>* ListAndWatch(grpc::CallbackServerContext*,
                                                           const grpc::ByteBuffer*) override {
    return streams_->Open();
  }

  grpc::ServerUnaryReactor* GetPreferredAllocation(
      grpc::CallbackServerContext* context, const v1beta1::PreferredAllocationRequest* request,
      v1beta1::PreferredAllocationResponse* response) override {
    for (const auto& container : request->container_requests()) {
      auto* out = response->add_container_responses();
      for (auto& id : handler_->Prefer(Strings(container.available_deviceids()),
                                       Strings(container.must_include_deviceids()),
                                       container.allocation_size())) {
        out->add_deviceids(std::move(id));
      }
    }
    return Done(context, grpc::Status::OK);
  }

  grpc::ServerUnaryReactor* Allocate(grpc::CallbackServerContext* context,
                                     const grpc::ByteBuffer* request,
                                     grpc::ByteBuffer* response) override {
    const auto containers = ReadAllocateRequest(*request);
    if (!containers) {
      return Done(context, {grpc::StatusCode::INVALID_ARGUMENT,
                            "no AllocateRequest, or one with an id that is not UTF-8"});
    }
    std::string out;
    for (const std::vector<std::string>& ids : *containers) {
      auto grant = handler_->Allocate(ids);
      if (!grant) return Done(context, ToGrpc(grant.error()));
      WriteGrant(*grant, out);
    }
    grpc::Slice slice(out);
    *response = grpc::ByteBuffer(&slice, 1);
    return Done(context, grpc::Status::OK);
  }

  grpc::ServerUnaryReactor* PreStartContainer(grpc::CallbackServerContext*,
                                              const v1beta1::PreStartContainerRequest* request,
                                              v1beta1::PreStartContainerResponse*) override {
    auto call = std::make_shared<PreStartCall>();
    call->Begin();
    handler_->PreStart(Strings(request->devices_ids()), [call](Status status) {
      call->End(status ? grpc::Status::OK : ToGrpc(status.error()));
    });
    return call.get();
  }

 private:
  static grpc::ServerUnaryReactor* Done(grpc::CallbackServerContext* context,
                                        const grpc::Status& status) {
    auto* reactor = context->DefaultReactor();
    reactor->Finish(status);
    return reactor;
  }

  const PluginOptions options_;
  const std::shared_ptr<PluginHandler> handler_;
  const std::shared_ptr<Streams> streams_;
};

// What kubelet's plugin watcher asks of a socket below plugins_registry.
class WatcherService : public pluginregistration::Registration::CallbackService {
 public:
  WatcherService(std::string resource, std::function<void(Status)> notified)
      : resource_(std::move(resource)), notified_(std::move(notified)) {}

  grpc::ServerUnaryReactor* GetInfo(grpc::CallbackServerContext* context,
                                    const pluginregistration::InfoRequest*,
                                    pluginregistration::PluginInfo* info) override {
    info->set_type("DevicePlugin");
    info->set_name(resource_);
    info->add_supported_versions("v1beta1");  // endpoint stays empty: this same socket
    auto* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }

  grpc::ServerUnaryReactor* NotifyRegistrationStatus(
      grpc::CallbackServerContext* context, const pluginregistration::RegistrationStatus* status,
      pluginregistration::RegistrationStatusResponse*) override {
    if (status->plugin_registered()) {
      notified_({});
    } else {
      notified_(
          Fail(Reason::kRegisterFailed, "kubelet refused {}: {}", resource_, status->error()));
    }
    auto* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }

 private:
  const std::string resource_;
  const std::function<void(Status)> notified_;
};

}  // namespace

struct PluginServer::Impl {
  std::string socket_path;
  os::FileInfo socket_file;
  std::shared_ptr<Streams> streams;
  std::unique_ptr<DevicePluginService> service;
  std::unique_ptr<WatcherService> watcher;
  bool closed = false;
  std::unique_ptr<grpc::Server> server;

  bool SocketStands() const {
    auto now = os::Inspect(socket_path);
    return now && now->inode == socket_file.inode && now->device == socket_file.device;
  }

  void Close() {
    closed = true;
    if (SocketStands()) (void)os::RemoveFile(socket_path);
    streams->End();
  }
};

Result<std::unique_ptr<PluginServer>> PluginServer::Start(const Parameters& parameters,
                                                          std::shared_ptr<PluginHandler> handler,
                                                          ListBytes list,
                                                          const PluginServerEvents& events) {
  auto impl = std::make_unique<Impl>();
  impl->socket_path = parameters.socket_path;
  impl->streams = std::make_shared<Streams>(std::move(list), events);
  impl->service =
      std::make_unique<DevicePluginService>(parameters.options, std::move(handler), impl->streams);
  grpc::ServerBuilder builder;
  builder.SetMaxReceiveMessageSize(kMaxRequestBytes);
  builder.RegisterService(impl->service.get());
  if (!parameters.watcher_name.empty()) {
    impl->watcher =
        std::make_unique<WatcherService>(parameters.watcher_name, events.watcher_notified);
    builder.RegisterService(impl->watcher.get());
  }
  impl->server = TRY(ServeUnix(builder, parameters.socket_path));
  impl->socket_file = TRY(os::Inspect(parameters.socket_path));
  return std::unique_ptr<PluginServer>(new PluginServer(std::move(impl)));
}

PluginServer::PluginServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

PluginServer::~PluginServer() {
  if (!impl_->closed) Close();
  impl_->server->Shutdown(std::chrono::system_clock::now() + kShutdownGrace);
}

void PluginServer::Publish(ListBytes list) {
  impl_->streams->Publish(std::move(list));
}
void PluginServer::Close() {
  impl_->Close();
}
int PluginServer::streams() const {
  return impl_->streams->count();
}
bool PluginServer::SocketStands() const {
  return impl_->SocketStands();
}
const std::string& PluginServer::socket_path() const {
  return impl_->socket_path;
}

}  // namespace tessera::kubelet
