// SPDX-License-Identifier: Apache-2.0
#include "amd/exporter.h"

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <mutex>

#include "kubelet/start_grpc.h"
#include "proto/amdexporter/amdexporter.pb.h"

namespace tessera::fake {
namespace {

// One call: its request is read, then it is answered or left alone until its caller goes.
class Call : public grpc::ServerGenericBidiReactor {
 public:
  // `hangs`: the call gets no answer.
  Call(grpc::Status status, std::string answer, bool hangs)
      : status_(std::move(status)), hangs_(hangs) {
    const grpc::Slice slice(answer);
    answer_ = grpc::ByteBuffer(&slice, 1);
    StartRead(&request_);
  }
  void OnReadDone(bool) override {
    if (hangs_) return;
    if (!status_.ok()) return Finish(status_);
    StartWriteAndFinish(&answer_, {}, status_);
  }
  void OnCancel() override {
    if (hangs_) Finish(grpc::Status::CANCELLED);
  }
  void OnDone() override { delete this; }

 private:
  const grpc::Status status_;
  const bool hangs_;
  grpc::ByteBuffer request_, answer_;
};

}  // namespace

struct AmdExporter::Impl : grpc::CallbackGenericService {
  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* context) override {
    const std::lock_guard lock(mutex);
    const grpc::Status status =
        context->method() == method
            ? grpc::Status::OK
            : grpc::Status(grpc::StatusCode::UNIMPLEMENTED, "unknown service");
    return new Call(status, answer, hangs);
  }

  std::mutex mutex;
  std::string method, answer;  // under mutex, as `hangs`
  bool hangs = false;
  std::unique_ptr<grpc::Server> server;
};

AmdExporter::AmdExporter(const std::string& socket_path, std::string package)
    : impl_(std::make_unique<Impl>()) {
  kubelet::StartGrpc();
  impl_->method = "/" + std::move(package) + ".MetricsService/List";
  grpc::ServerBuilder builder;
  builder.AddListeningPort("unix:" + socket_path, grpc::InsecureServerCredentials());
  builder.RegisterCallbackGenericService(impl_.get());
  impl_->server = builder.BuildAndStart();
}

AmdExporter::~AmdExporter() {
  impl_->server->Shutdown(std::chrono::system_clock::now());
  impl_->server->Wait();
}

void AmdExporter::Set(const std::vector<std::pair<std::string, std::string>>& health) {
  gpumetricssvc::GPUStateResponse response;
  for (const auto& [device, word] : health) {
    gpumetricssvc::GPUState& gpu = *response.add_states();
    gpu.set_id(std::to_string(response.states_size() - 1));
    gpu.set_uuid("e3ff74a1-0000-1000-80aa-140f9a5f9e31");
    gpu.set_health(word);
    gpu.add_workloads("default/job");
    gpu.set_device(device);
  }
  SetBytes(response.SerializeAsString());
}

void AmdExporter::SetBytes(std::string bytes) {
  const std::lock_guard lock(impl_->mutex);
  impl_->answer = std::move(bytes);
}

void AmdExporter::Hang() {
  const std::lock_guard lock(impl_->mutex);
  impl_->hangs = true;
}

}  // namespace tessera::fake
