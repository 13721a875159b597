// SPDX-License-Identifier: Apache-2.0
#include "podresources/server.h"

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "kubelet/start_grpc.h"
#include "proto/podresources/podresources.grpc.pb.h"

namespace tessera::fake {
namespace {

using grpc::ServerContext;
using grpc::Status;

void Add(const std::string& resource, const std::vector<std::string>& ids,
         v1::ContainerDevices& devices) {
  devices.set_resource_name(resource);
  for (const std::string& id : ids) devices.add_device_ids(id);
}

}  // namespace

struct PodResources::Impl : v1::PodResourcesLister::Service {
  Status List(ServerContext*, const v1::ListPodResourcesRequest*,
              v1::ListPodResourcesResponse* response) override {
    std::unique_lock lock(mutex);
    ++lists;
    let_go.wait(lock, [this] { return !held; });
    for (const Holding& holding : answer.holdings) {
      v1::PodResources& pod = *response->add_pod_resources();
      pod.set_namespace_(holding.pod_namespace);
      pod.set_name(holding.pod);
      v1::ContainerResources& container = *pod.add_containers();
      container.set_name(holding.container);
      Add(holding.resource, holding.share_ids, *container.add_devices());
    }
    return Status::OK;
  }

  Status GetAllocatableResources(ServerContext*, const v1::AllocatableResourcesRequest*,
                                 v1::AllocatableResourcesResponse* response) override {
    std::lock_guard lock(mutex);
    if (!answer.allocatable) return {grpc::StatusCode::UNIMPLEMENTED, "not in this kubelet"};
    for (const auto& [resource, ids] : *answer.allocatable) {
      Add(resource, ids, *response->add_devices());
    }
    return Status::OK;
  }

  mutable std::mutex mutex;
  std::condition_variable let_go;
  PodResourcesAnswer answer{.holdings = {}, .allocatable = {{}}};  // under mutex, to `lists`
  bool held = false;
  int lists = 0;
  std::unique_ptr<grpc::Server> server;
};

PodResources::PodResources(const std::string& socket_path) : impl_(std::make_unique<Impl>()) {
  kubelet::StartGrpc();
  grpc::ServerBuilder builder;
  builder.AddListeningPort("unix:" + socket_path, grpc::InsecureServerCredentials());
  builder.RegisterService(impl_.get());
  impl_->server = builder.BuildAndStart();
}

PodResources::~PodResources() {
  LetGo();
  impl_->server->Shutdown(std::chrono::system_clock::now());
  impl_->server->Wait();
}

void PodResources::Set(PodResourcesAnswer answer) {
  std::lock_guard lock(impl_->mutex);
  impl_->answer = std::move(answer);
}

void PodResources::Hold() {
  std::lock_guard lock(impl_->mutex);
  impl_->held = true;
}

void PodResources::LetGo() {
  std::lock_guard lock(impl_->mutex);
  impl_->held = false;
  impl_->let_go.notify_all();
}

int PodResources::lists() const {
  std::lock_guard lock(impl_->mutex);
  return impl_->lists;
}

}  // namespace tessera::fake
