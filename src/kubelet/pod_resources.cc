// SPDX-License-Identifier: Apache-2.0
#include "kubelet/pod_resources.h"

#include <grpcpp/grpcpp.h>

#include <map>
#include <set>

#include "base/text.h"
#include "kubelet/channel.h"
#include "kubelet/wire.h"
#include "proto/podresources/podresources.grpc.pb.h"

namespace tessera::kubelet {
namespace {

std::vector<Holding> ToHoldings(const v1::ListPodResourcesResponse& response) {
  std::vector<Holding> holdings;
  for (const auto& pod : response.pod_resources()) {
    for (const auto& container : pod.containers()) {
      // One entry a device and NUMA node: a device near to two nodes comes twice.
      std::map<std::string, std::set<std::string, NaturalLess>> ids;
      for (const auto& devices : container.devices()) {
        ids[devices.resource_name()].insert(devices.device_ids().begin(),
                                            devices.device_ids().end());
      }
      for (const auto& [resource, unique] : ids) {
        holdings.push_back({.pod_namespace = pod.namespace_(),
                            .pod = pod.name(),
                            .pod_uid = "",
                            .container = container.name(),
                            .resource = resource,
                            .share_ids = {unique.begin(), unique.end()}});
      }
    }
  }
  return holdings;
}

std::map<std::string, int> CountAllocatable(const v1::AllocatableResourcesResponse& response) {
  std::map<std::string, std::set<std::string>> ids;  // as above, a device may come twice
  for (const auto& devices : response.devices()) {
    ids[devices.resource_name()].insert(devices.device_ids().begin(), devices.device_ids().end());
  }
  std::map<std::string, int> counts;
  for (const auto& [resource, unique] : ids) counts[resource] = static_cast<int>(unique.size());
  return counts;
}

}  // namespace

// Both calls' parts; held by whoever asked and by the call under way.
struct PodResourcesCall::State : std::enable_shared_from_this<State> {
  std::string socket_path;
  Duration timeout{};
  std::function<void(Result<PodResourcesView>)> done;
  std::unique_ptr<v1::PodResourcesLister::Stub> stub;
  grpc::ClientContext list_context;
  grpc::ClientContext allocatable_context;
  v1::ListPodResourcesRequest list_request;
  v1::ListPodResourcesResponse list;
  v1::AllocatableResourcesRequest allocatable_request;
  v1::AllocatableResourcesResponse allocatable;

  void List() {
    list_context.set_deadline(std::chrono::system_clock::now() + timeout);
    stub->async()->List(&list_context, &list_request, &list,
                        [self = shared_from_this()](const grpc::Status& status) {
                          if (status.ok()) return self->Allocatable();
                          self->Refused(status);
                        });
  }

  void Allocatable() {
    allocatable_context.set_deadline(std::chrono::system_clock::now() + timeout);
    stub->async()->GetAllocatableResources(
        &allocatable_context, &allocatable_request, &allocatable,
        [self = shared_from_this()](const grpc::Status& status) {
          PodResourcesView view{.holdings = ToHoldings(self->list), .allocatable = {}};
          if (status.ok()) view.allocatable = CountAllocatable(self->allocatable);
          self->done(std::move(view));
        });
  }

  void Refused(const grpc::Status& status) {
    Error error = FromGrpc(status, "asking " + socket_path);
    error.reason = Reason::kPodResourcesUnavailable;
    done(Fail(std::move(error)));
  }
};

std::unique_ptr<PodResourcesCall> PodResourcesCall::Ask(
    const std::string& socket_path, Duration timeout,
    std::function<void(Result<PodResourcesView>)> done) {
  auto state = std::make_shared<State>();
  state->socket_path = socket_path;
  state->timeout = timeout;
  state->done = std::move(done);
  state->stub = v1::PodResourcesLister::NewStub(FreshChannel(socket_path));
  state->List();
  return std::unique_ptr<PodResourcesCall>(new PodResourcesCall(std::move(state)));
}

PodResourcesCall::~PodResourcesCall() {
  state_->list_context.TryCancel();
  state_->allocatable_context.TryCancel();
}

}  // namespace tessera::kubelet
