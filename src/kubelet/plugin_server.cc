// SPDX-License-Identifier: Apache-2.0
#include "kubelet/plugin_server.h"

#include <grpcpp/alarm.h>
#include <grpcpp/grpcpp.h>

#include <atomic>
#include <optional>
#include <utility>

#include "kubelet/call_queue.h"
#include "kubelet/listen.h"
#include "kubelet/start_grpc.h"
#include "kubelet/streams.h"
#include "kubelet/wire.h"
#include "os/files.h"
#include "proto/deviceplugin/deviceplugin.grpc.pb.h"
#include "proto/pluginregistration/pluginregistration.grpc.pb.h"

namespace tessera::kubelet {
namespace {

// GetPreferredAllocation names every free id, and 60,000 ids exceed gRPC's default of 4 MiB.
constexpr int kMaxRequestBytes = 64 * 1024 * 1024;
constexpr std::chrono::milliseconds kShutdownGrace{500};

std::vector<std::string> Strings(const google::protobuf::RepeatedPtrField<std::string>& field) {
  return {field.begin(), field.end()};
}

// kubelet waits 30 s, and its timeout names no cause. So we answer earlier, with the cause.
constexpr std::chrono::seconds kPreStartLimit{25};

using Base = v1beta1::DevicePlugin;
using DevicePlugin = Base::WithAsyncMethod_GetDevicePluginOptions<
    Base::WithRawMethod_ListAndWatch<Base::WithAsyncMethod_GetPreferredAllocation<
        Base::WithRawMethod_Allocate<Base::WithAsyncMethod_PreStartContainer<Base::Service>>>>>;
using Watcher = pluginregistration::Registration::AsyncService;

// A PreStartContainer call. Handler, time limit and cancellation race to answer it, and the first
// one wins. So a reset that hangs cannot block the server's end.
class PreStartCall : public std::enable_shared_from_this<PreStartCall> {
 public:
  explicit PreStartCall(CallQueue& queue) : queue_(queue) {}

  static void Serve(DevicePlugin& service, CallQueue& queue,
                    const std::shared_ptr<PluginHandler>& handler) {
    auto call = std::make_shared<PreStartCall>(queue);
    void* gone = queue.Then([call](bool) { call->End(grpc::Status::CANCELLED); });
    call->context_.AsyncNotifyWhenDone(gone);
    void* arrived = queue.Then([&service, &queue, handler, call, gone](bool ok) {
      // gRPC reports the end of a call only if the call has begun.
      if (!ok) return queue.Forget(gone);
      Serve(service, queue, handler);
      call->Begin(*handler);
    });
    service.RequestPreStartContainer(&call->context_, &call->request_, &call->answer_, &*queue,
                                     &*queue, arrived);
  }

 private:
  void Begin(PluginHandler& handler) {
    // This tag makes the queue's End wait for the answer, on whatever thread it comes.
    sent_ = queue_.Then([self = shared_from_this()](bool) {});
    void* late = queue_.Then([self = shared_from_this()](bool expired) {
      if (!expired) return;
      self->End(ToGrpc({Reason::kResetTimedOut, fmt::format("the device was not ready after {} s",
                                                            kPreStartLimit.count())}));
    });
    limit_.Set(&*queue_, std::chrono::system_clock::now() + kPreStartLimit, late);
    // The handler gets a weak reference: an answer that never comes must not keep the call, and the
    // server, alive.
    const std::weak_ptr<PreStartCall> weak = weak_from_this();
    const auto wanted = [weak] {
      const auto self = weak.lock();
      return self != nullptr && !self->ended_;
    };
    handler.PreStart(Strings(request_.devices_ids()), wanted, [weak](const Status& status) {
      if (const auto self = weak.lock()) {
        self->End(status ? grpc::Status::OK : ToGrpc(status.error()));
      }
    });
  }

  void End(const grpc::Status& status) {
    if (ended_.exchange(true)) return;
    limit_.Cancel();
    answer_.Finish({}, status, sent_);
  }

  CallQueue& queue_;
  grpc::ServerContext context_;
  v1beta1::PreStartContainerRequest request_;
  grpc::ServerAsyncResponseWriter<v1beta1::PreStartContainerResponse> answer_{&context_};
  grpc::Alarm limit_;
  void* sent_ = nullptr;
  std::atomic<bool> ended_{false};
};

// The grants of one Allocate call, one per container. The call is answered when all are known. It
// fails with the error of the first refused container.
class Grants {
 public:
  Grants(size_t containers, Answer<grpc::ByteBuffer> answer)
      : grants_(containers), left_(containers), answer_(std::move(answer)) {}

  // Called once per container, on any thread. The last one answers the call.
  void Put(size_t container, Result<Grant> grant) {
    grants_[container] = std::move(grant);
    if (--left_ == 0) End();
  }
  void End() {
    std::string out;
    for (const auto& grant : grants_) {
      if (!*grant) return answer_(ToGrpc(grant->error()), {});
      WriteGrant(**grant, out);
    }
    grpc::Slice slice(out);
    answer_(grpc::Status::OK, grpc::ByteBuffer(&slice, 1));
  }

 private:
  std::vector<std::optional<Result<Grant>>> grants_;
  std::atomic<size_t> left_;
  const Answer<grpc::ByteBuffer> answer_;
};

void Allocate(PluginHandler& handler, const grpc::ByteBuffer& request,
              Answer<grpc::ByteBuffer> answer) {
  const auto containers = ReadAllocateRequest(request);
  if (!containers) {
    return answer({grpc::StatusCode::INVALID_ARGUMENT,
                   "no AllocateRequest, or one with an id that is not UTF-8"},
                  {});
  }
  const auto grants = std::make_shared<Grants>(containers->size(), std::move(answer));
  if (containers->empty()) return grants->End();
  for (size_t i = 0; i < containers->size(); ++i) {
    handler.Allocate((*containers)[i],
                     [grants, i](Result<Grant> grant) { grants->Put(i, std::move(grant)); });
  }
}

void Prefer(PluginHandler& handler, const v1beta1::PreferredAllocationRequest& request,
            v1beta1::PreferredAllocationResponse& response) {
  for (const auto& container : request.container_requests()) {
    auto* out = response.add_container_responses();
    for (auto& id :
         handler.Prefer(Strings(container.available_deviceids()),
                        Strings(container.must_include_deviceids()), container.allocation_size())) {
      out->add_deviceids(std::move(id));
    }
  }
}

void ServeDevicePlugin(DevicePlugin& service, CallQueue& queue, const PluginOptions& options,
                       const std::shared_ptr<PluginHandler>& handler, Streams& streams) {
  Serve(service, queue, &DevicePlugin::RequestGetDevicePluginOptions,
        [options](const v1beta1::Empty&, v1beta1::DevicePluginOptions& out) {
          out.set_pre_start_required(options.pre_start_required);
          out.set_get_preferred_allocation_available(options.preferred_allocation_available);
          return grpc::Status::OK;
        });
  Serve(service, queue, &DevicePlugin::RequestGetPreferredAllocation,
        [handler](const auto& request, auto& response) {
          Prefer(*handler, request, response);
          return grpc::Status::OK;
        });
  ServeLater(service, queue, &DevicePlugin::RequestAllocate,
             [handler](const auto& request, auto answer) {
               Allocate(*handler, request, std::move(answer));
             });
  PreStartCall::Serve(service, queue, handler);
  streams.Serve(queue, [&service, &queue](auto& context, auto& request, auto& writer, void* tag) {
    service.RequestListAndWatch(&context, &request, &writer, &*queue, &*queue, tag);
  });
}

// The service that kubelet's plugin watcher calls on a socket below plugins_registry.
void ServeWatcher(Watcher& service, CallQueue& queue, const std::string& resource,
                  const std::function<void(Status)>& notified) {
  Serve(service, queue, &Watcher::RequestGetInfo,
        [resource](const pluginregistration::InfoRequest&, pluginregistration::PluginInfo& info) {
          info.set_type("DevicePlugin");
          info.set_name(resource);
          info.add_supported_versions("v1beta1");  // an empty endpoint means this socket
          return grpc::Status::OK;
        });
  Serve(service, queue, &Watcher::RequestNotifyRegistrationStatus,
        [resource, notified](const pluginregistration::RegistrationStatus& status, auto&) {
          if (status.plugin_registered()) {
            notified({});
          } else {
            notified(
                Fail(Reason::kRegisterFailed, "kubelet refused {}: {}", resource, status.error()));
          }
          return grpc::Status::OK;
        });
}

}  // namespace

struct PluginServer::Impl {
  ~Impl() {
    if (server == nullptr) return;
    server->Shutdown(std::chrono::system_clock::now() + kShutdownGrace);
    queue->End();
  }

  std::string socket_path;
  os::FileInfo socket_file;
  std::shared_ptr<Streams> streams;
  bool closed = false;
  // gRPC requires the server to end before its services and its queue, so the order of these
  // members matters.
  std::unique_ptr<CallQueue> queue;
  DevicePlugin service;
  Watcher watcher;
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

Result<std::unique_ptr<PluginServer>> PluginServer::Start(
    const Parameters& parameters, const std::shared_ptr<PluginHandler>& handler, ListBytes list,
    const PluginServerEvents& events) {
  StartGrpc();
  auto impl = std::make_unique<Impl>();
  impl->socket_path = parameters.socket_path;
  impl->streams = std::make_shared<Streams>(std::move(list), events);
  grpc::ServerBuilder builder;
  builder.SetMaxReceiveMessageSize(kMaxRequestBytes);
  const bool watched = !parameters.watcher_name.empty();
  builder.RegisterService(&impl->service);
  if (watched) builder.RegisterService(&impl->watcher);
  impl->queue = TRY(CallQueue::Make(builder));
  impl->server = TRY(ServeUnix(builder, parameters.socket_path));
  TRY(MakePrivate(parameters.socket_path));
  ServeDevicePlugin(impl->service, *impl->queue, parameters.options, handler, *impl->streams);
  if (watched) {
    ServeWatcher(impl->watcher, *impl->queue, parameters.watcher_name, events.watcher_notified);
  }
  impl->socket_file = TRY(os::Inspect(parameters.socket_path));
  return std::unique_ptr<PluginServer>(new PluginServer(std::move(impl)));
}

PluginServer::PluginServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

PluginServer::~PluginServer() {
  if (!impl_->closed) Close();
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
