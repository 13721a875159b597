// SPDX-License-Identifier: Apache-2.0
#include "sim/kubelet/pod_resources_service.h"

#include <grpcpp/grpcpp.h>

#include "base/rate_limit.h"
#include "proto/podresources/podresources.grpc.pb.h"

namespace tessera::kubelet::embedded {
namespace {

constexpr double kCallsPerSecond = 100;
constexpr double kBurst = 10;
constexpr std::string_view kNoNumaText = "-1";

v1::ContainerDevices* Add(google::protobuf::RepeatedPtrField<v1::ContainerDevices>& devices,
                          const std::string& resource, const std::string& id) {
  v1::ContainerDevices* device = devices.Add();
  device->set_resource_name(resource);
  device->add_device_ids(id);
  return device;
}

// One entry for each device and NUMA node.
void Describe(const CheckpointEntry& entry, v1::ContainerResources& container) {
  for (const auto& [numa, ids] : entry.ids_by_numa) {
    for (const std::string& id : ids) {
      v1::ContainerDevices* device = Add(*container.mutable_devices(), entry.resource, id);
      if (numa != kNoNumaText) device->mutable_topology()->add_nodes()->set_id(std::stoll(numa));
    }
  }
}

class PodResourcesService : public v1::PodResourcesLister::CallbackService {
 public:
  explicit PodResourcesService(Core& core) : core_(core) {}

  grpc::ServerUnaryReactor* List(grpc::CallbackServerContext* context,
                                 const v1::ListPodResourcesRequest*,
                                 v1::ListPodResourcesResponse* response) override {
    return Answer(*context, [&](Core& core) TESSERA_REQUIRES(core.mutex) {
      core.CollectGarbage();
      for (const auto& [name, pod] : core.pods.all())
        Describe(core, pod, *response->add_pod_resources());
      return grpc::Status::OK;
    });
  }

  grpc::ServerUnaryReactor* Get(grpc::CallbackServerContext* context,
                                const v1::GetPodResourcesRequest* request,
                                v1::GetPodResourcesResponse* response) override {
    return Answer(*context, [&](Core& core) TESSERA_REQUIRES(core.mutex) {
      const Pod* pod = core.pods.Find({request->pod_namespace(), request->pod_name()});
      if (pod == nullptr) {
        return grpc::Status(grpc::StatusCode::UNKNOWN,
                            fmt::format("pod {} in namespace {} not found", request->pod_name(),
                                        request->pod_namespace()));
      }
      Describe(core, *pod, *response->mutable_pod_resources());
      return grpc::Status::OK;
    });
  }

  grpc::ServerUnaryReactor* GetAllocatableResources(
      grpc::CallbackServerContext* context, const v1::AllocatableResourcesRequest*,
      v1::AllocatableResourcesResponse* response) override {
    return Answer(*context, [&](Core& core) TESSERA_REQUIRES(core.mutex) {
      for (const auto& [resource, device] : core.devices.Allocatable()) {
        if (!device.numa) {
          Add(*response->mutable_devices(), resource, device.id);
          continue;
        }
        // A device whose topology has no nodes is missing here, as in kubelet.
        for (int64_t node : *device.numa) {
          Add(*response->mutable_devices(), resource, device.id)
              ->mutable_topology()
              ->add_nodes()
              ->set_id(node);
        }
      }
      return grpc::Status::OK;
    });
  }

 private:
  // Runs `fill` with the accounting locked, unless the rate limit refuses the call.
  template <class Fill>
  grpc::ServerUnaryReactor* Answer(grpc::CallbackServerContext& context, Fill fill) {
    grpc::ServerUnaryReactor* reactor = context.DefaultReactor();
    MutexLock lock(core_.mutex);
    grpc::Status status =
        limit_.Allow(SystemClock().Now())
            ? fill(core_)
            : grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "rejected by rate limit");
    lock.unlock();
    reactor->Finish(status);
    return reactor;
  }

  // Init containers that ran to their end are left out.
  static void Describe(const Core& core, const Pod& pod, v1::PodResources& out)
      TESSERA_REQUIRES(core.mutex) {
    out.set_name(pod.spec.name);
    out.set_namespace_(pod.spec.pod_namespace);
    for (const ContainerSpec& container : pod.spec.containers) {
      if (container.kind == ContainerSpec::Kind::kInit) continue;
      v1::ContainerResources* described = out.add_containers();
      described->set_name(container.name);
      for (const auto& [resource, count] : container.limits) {
        const CheckpointEntry* entry =
            core.devices.pod_devices().Find({pod.spec.uid, container.name, resource});
        if (entry != nullptr) embedded::Describe(*entry, *described);
      }
    }
  }

  Core& core_;
  RateLimit limit_ TESSERA_GUARDED_BY(core_.mutex){kCallsPerSecond, kBurst};
};

}  // namespace

std::shared_ptr<grpc::Service> MakePodResourcesService(Core& core) {
  return std::make_shared<PodResourcesService>(core);
}

}  // namespace tessera::kubelet::embedded
