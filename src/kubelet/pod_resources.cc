// SPDX-License-Identifier: Apache-2.0
#include "kubelet/pod_resources.h"

#include <grpcpp/grpcpp.h>

#include <map>
#include <set>
#include <string_view>
#include <unordered_set>

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
      // kubelet sends one entry per device and NUMA node, so a device near to two nodes comes
      // twice.
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
  // A device may come twice here too. Up to 60,000 ids: not copied.
  std::map<std::string, std::unordered_set<std::string_view>> ids;
  for (const auto& devices : response.devices()) {
    ids[devices.resource_name()].insert(devices.device_ids().begin(), devices.device_ids().end());
  }
  std::map<std::string, int> counts;
  for (const auto& [resource, unique] : ids) counts[resource] = static_cast<int>(unique.size());
  return counts;
}

using Stub = v1::PodResourcesLister::Stub;

Result<std::vector<Holding>> AskList(Stub& stub, const std::string& socket_path, Duration timeout,
                                     grpc::ClientContext& context) {
  v1::ListPodResourcesResponse list;
  context.set_deadline(std::chrono::system_clock::now() + timeout);
  if (const grpc::Status status = stub.List(&context, {}, &list); !status.ok()) {
    Error error = FromGrpc(status, "asking " + socket_path);
    error.reason = Reason::kPodResourcesUnavailable;
    return Fail(std::move(error));
  }
  return ToHoldings(list);
}

Result<PodResourcesView> AskBoth(const std::string& socket_path, Duration timeout,
                                 grpc::ClientContext& list_context,
                                 grpc::ClientContext& allocatable_context) {
  const auto stub = v1::PodResourcesLister::NewStub(FreshChannel(socket_path));
  PodResourcesView view{.holdings = TRY(AskList(*stub, socket_path, timeout, list_context)),
                        .allocatable = {}};
  v1::AllocatableResourcesResponse allocatable;
  allocatable_context.set_deadline(std::chrono::system_clock::now() + timeout);
  if (stub->GetAllocatableResources(&allocatable_context, {}, &allocatable).ok()) {
    view.allocatable = CountAllocatable(allocatable);
  }
  return view;
}

}  // namespace

Result<std::vector<Holding>> ListHoldings(const std::string& socket_path, Duration timeout) {
  grpc::ClientContext context;
  return AskList(*v1::PodResourcesLister::NewStub(FreshChannel(socket_path)), socket_path, timeout,
                 context);
}

struct PodResourcesCall::State {
  grpc::ClientContext list;
  grpc::ClientContext allocatable;
};

std::unique_ptr<PodResourcesCall> PodResourcesCall::Ask(
    os::Workers& workers, std::string socket_path, Duration timeout,
    std::function<void(Result<PodResourcesView>)> done) {
  auto state = std::make_shared<State>();
  workers.Run([state, socket_path = std::move(socket_path), timeout, done = std::move(done)] {
    done(AskBoth(socket_path, timeout, state->list, state->allocatable));
  });
  return std::unique_ptr<PodResourcesCall>(new PodResourcesCall(std::move(state)));
}

PodResourcesCall::~PodResourcesCall() {
  state_->list.TryCancel();
  state_->allocatable.TryCancel();
}

}  // namespace tessera::kubelet
