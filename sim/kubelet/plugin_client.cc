// SPDX-License-Identifier: Apache-2.0
#include "sim/kubelet/plugin_client.h"

#include <grpcpp/grpcpp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "proto/deviceplugin/deviceplugin.grpc.pb.h"
#include "sim/kubelet/go_text.h"

namespace tessera::kubelet::embedded {
namespace {

constexpr Duration kPreStartLimit{30'000};

tl::unexpected<Error> RpcFailure(const grpc::Status& status) {
  return Fail(Error{Reason::kUnavailable,
                    RpcErrorText(static_cast<int>(status.error_code()), status.error_message())});
}

tl::unexpected<Error> Closing() {
  return Fail(Error{Reason::kUnavailable,
                    "rpc error: code = Canceled desc = grpc: the client connection is closing"});
}

std::vector<ListedDevice> ReadList(const v1beta1::ListAndWatchResponse& response) {
  std::vector<ListedDevice> devices;
  devices.reserve(static_cast<size_t>(response.devices_size()));
  for (const v1beta1::Device& device : response.devices()) {
    ListedDevice& listed = devices.emplace_back();
    listed.id = device.id();
    listed.healthy = device.health() == "Healthy";
    if (!device.has_topology()) continue;
    listed.numa.emplace();
    for (const auto& node : device.topology().nodes()) listed.numa->push_back(node.id());
  }
  return devices;
}

// A gate that holds the reader's list while the fault HangInStream is on. Any thread.
class Gate {
 public:
  // Calls `next` now, or once it is open.
  void Pass(std::function<void()> next) {
    {
      const MutexLock lock(mutex_);
      if (shut_) {
        waiting_ = std::move(next);
        return;
      }
    }
    next();
  }
  void Shut() {
    const MutexLock lock(mutex_);
    shut_ = true;
  }
  void Open() {
    std::function<void()> next;
    {
      const MutexLock lock(mutex_);
      shut_ = false;
      next.swap(waiting_);
    }
    if (next) next();
  }

 private:
  Mutex mutex_;
  bool shut_ TESSERA_GUARDED_BY(mutex_) = false;
  std::function<void()> waiting_ TESSERA_GUARDED_BY(mutex_);  // of the only reader
};

}  // namespace

// The connection. A call holds it while it runs, so Close need not wait for calls.
struct PluginClient::Line {
  Gate lists;
  std::unique_ptr<v1beta1::DevicePlugin::Stub> stub;
  os::Fd connection;  // a second descriptor of the connection, for its shutdown
  Cancellation cancellation;

  // Runs one call; the context ends with the line.
  template <class Call>
  grpc::Status Run(grpc::ClientContext& context, Call call) {
    Cancellation::Hook hook(cancellation, [&context] { context.TryCancel(); });
    return call();
  }
};

PluginClient::PluginClient(std::string resource, std::string path)
    : resource_(std::move(resource)), path_(std::move(path)) {}

PluginClient::~PluginClient() {
  Close();
}

std::shared_ptr<PluginClient::Line> PluginClient::line() const {
  const MutexLock lock(mutex_);
  return line_;
}

Status PluginClient::Connect(const DialLimit& limit, const Cancellation& stopping) {
  os::Fd connection = TRY_IN(Dial(path_, limit, stopping), "failed to dial device plugin");
  auto line = std::make_shared<Line>();
  line->connection = os::Fd(dup(connection.get()));
  line->stub = v1beta1::DevicePlugin::NewStub(ChannelOver(std::move(connection), "localhost"));
  const MutexLock lock(mutex_);
  line_ = std::move(line);
  return {};
}

void PluginClient::Close(bool abruptly) {
  std::shared_ptr<Line> line;
  {
    const MutexLock lock(mutex_);
    line.swap(line_);
  }
  if (!line) return;
  if (abruptly) shutdown(line->connection.get(), SHUT_RDWR);
  line->cancellation.Cancel();
}

Result<PluginOptions> PluginClient::Options(const DialLimit& limit) {
  auto line = this->line();
  if (!line) return Closing();
  grpc::ClientContext context;
  if (limit.call != Steady::max()) {
    context.set_deadline(std::chrono::system_clock::now() + (limit.call - SystemClock().Now()));
  }
  v1beta1::DevicePluginOptions options;
  grpc::Status status = line->Run(
      context, [&] { return line->stub->GetDevicePluginOptions(&context, {}, &options); });
  if (!status.ok()) {
    return Fail(RpcFailure(status).value().In("failed to get device plugin options"));
  }
  return PluginOptions{options.pre_start_required(), options.get_preferred_allocation_available()};
}

// Reads the stream of lists; deletes itself at the end.
class PluginClient::ListReader : public grpc::ClientReadReactor<v1beta1::ListAndWatchResponse> {
 public:
  ListReader(std::shared_ptr<Line> line, Listener listener)
      : line_(std::move(line)), listener_(std::move(listener)) {
    line_->stub->async()->ListAndWatch(&context_, &request_, this);
    hook_.emplace(line_->cancellation, [this] {
      context_.TryCancel();
      line_->lists.Open();
    });
    StartRead(&response_);
    StartCall();
  }

  void OnReadDone(bool ok) override {
    if (!ok) return;
    AddHold();  // the next read may start on another thread
    line_->lists.Pass([this] {
      listener_.list(ReadList(response_));
      StartRead(&response_);
      RemoveHold();
    });
  }

  void OnDone(const grpc::Status& status) override {
    // A plugin that returns from ListAndWatch without an error; Go reads EOF.
    std::string why =
        status.ok() ? "EOF"
                    : RpcErrorText(static_cast<int>(status.error_code()), status.error_message());
    // All members go before the listener is called: a kubelet that ends waits only for the
    // listener.
    Listener listener = std::move(listener_);
    delete this;
    listener.ended(std::move(why));
  }

 private:
  std::shared_ptr<Line> line_;
  Listener listener_;
  grpc::ClientContext context_;
  v1beta1::Empty request_;
  v1beta1::ListAndWatchResponse response_;
  std::optional<Cancellation::Hook> hook_;
};

void PluginClient::Watch(Listener listener) {
  if (auto line = this->line()) {
    new ListReader(std::move(line), std::move(listener));
  } else {
    listener.ended("the connection is closed");
  }
}

void PluginClient::HangInStream(bool on) {
  auto line = this->line();
  if (!line) return;
  if (on) {
    line->lists.Shut();
  } else {
    line->lists.Open();
  }
}

Result<std::vector<std::string>> PluginClient::Prefer(std::span<const std::string> available,
                                                      std::span<const std::string> must_include,
                                                      int size) {
  auto line = this->line();
  if (!line) return Closing();
  v1beta1::PreferredAllocationRequest request;
  auto* wanted = request.add_container_requests();
  wanted->mutable_available_deviceids()->Add(available.begin(), available.end());
  wanted->mutable_must_include_deviceids()->Add(must_include.begin(), must_include.end());
  wanted->set_allocation_size(size);
  v1beta1::PreferredAllocationResponse response;
  grpc::ClientContext context;
  grpc::Status status = line->Run(
      context, [&] { return line->stub->GetPreferredAllocation(&context, request, &response); });
  if (!status.ok()) return RpcFailure(status);
  if (response.container_responses().empty()) return std::vector<std::string>{};
  const auto& ids = response.container_responses(0).deviceids();
  return std::vector<std::string>(ids.begin(), ids.end());
}

Result<std::vector<std::string>> PluginClient::Allocate(std::span<const std::string> ids) {
  auto line = this->line();
  if (!line) return Closing();
  v1beta1::AllocateRequest request;
  request.add_container_requests()->mutable_devices_ids()->Add(ids.begin(), ids.end());
  v1beta1::AllocateResponse response;
  grpc::ClientContext context;
  grpc::Status status =
      line->Run(context, [&] { return line->stub->Allocate(&context, request, &response); });
  if (!status.ok()) return RpcFailure(status);
  std::vector<std::string> serialized;
  for (const auto& container : response.container_responses()) {
    serialized.push_back(container.SerializeAsString());
  }
  return serialized;
}

Status PluginClient::PreStart(std::span<const std::string> ids) {
  auto line = this->line();
  if (!line) return Closing();
  v1beta1::PreStartContainerRequest request;
  request.mutable_devices_ids()->Add(ids.begin(), ids.end());
  v1beta1::PreStartContainerResponse response;
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kPreStartLimit);
  grpc::Status status = line->Run(
      context, [&] { return line->stub->PreStartContainer(&context, request, &response); });
  if (!status.ok()) return RpcFailure(status);
  return {};
}

}  // namespace tessera::kubelet::embedded
