// SPDX-License-Identifier: Apache-2.0
// The second half of PodAdmission: starting containers of admitted pods.
#include "sim/kubelet/admission.h"

namespace tessera::kubelet::embedded {
namespace {

using Kind = ContainerSpec::Kind;
using EventKind = KubeletEvent::Kind;

}  // namespace

void PodAdmission::StartContainers(const PodSpec& pod, Admission& admission) {
  for (bool app : {false, true}) {
    for (const ContainerSpec& container : pod.containers) {
      if ((container.kind == Kind::kApp) != app) continue;
      Status started = StartContainer(pod, container);
      if (started) continue;
      admission.start_failures.emplace_back(container.name, started.error().message);
      // Later containers wait for an init container or sidecar that did not start.
      if (!app) return;
    }
  }
}

Status PodAdmission::StartContainer(const PodSpec& pod, const ContainerSpec& container) {
  std::string name = pod.pod_namespace + "/" + pod.name + "/" + container.name;
  Status started;
  for (const auto& [resource, count] : LimitsInRandomOrder(container)) {
    if (count == 0) continue;
    started = PreStart({pod.uid, container.name, resource});
    if (!started) break;
  }
  if (started) started = AllocateMissing(pod, container);
  if (!started) {
    core_.Emit(EventKind::kStartFailed, "",
               fmt::format("container {} did not start: {}", name, started.error().message));
    return started;
  }
  {
    const MutexLock lock(core_.mutex);
    if (Pod* known = core_.pods.Find({pod.pod_namespace, pod.name})) {
      known->started.insert(container.name);
      core_.SavePods();
    }
  }
  core_.Emit(EventKind::kContainerStarted, "", fmt::format("container {} started", name));
  return {};
}

Status PodAdmission::PreStart(const Claim& claim) {
  DeviceManager::Plugin plugin;
  std::vector<std::string> ids;
  {
    const MutexLock lock(core_.mutex);
    if (!core_.devices.Handles(claim.resource)) return {};
    const DeviceManager::Plugin* known = core_.devices.PluginOf(claim.resource);
    if (known == nullptr) {
      return Fail(Reason::kNotOffered, "endpoint not found in cache for a registered resource: {}",
                  claim.resource);
    }
    plugin = *known;
    if (!plugin.options || !plugin.options->pre_start_required) return {};
    const CheckpointEntry* entry = core_.devices.pod_devices().Find(claim);
    if (entry == nullptr) {
      return Fail(Reason::kInternal,
                  "no devices found allocated in local cache for pod {}, container {}, resource {}",
                  claim.pod_uid, claim.container, claim.resource);
    }
    std::vector<std::string> held = entry->ids();
    ids = core_.devices.InRandomOrder(Ids(held.begin(), held.end()));
  }
  Status done = plugin.stopped
                    ? Fail(Reason::kUnavailable, "endpoint {} has been stopped", claim.resource)
                    : plugin.endpoint->PreStart(ids);
  if (done) return {};
  return Fail(Reason::kUnavailable, "device plugin PreStartContainer rpc failed with err: {}",
              done.error().message);
}

Status PodAdmission::AllocateMissing(const PodSpec& pod, const ContainerSpec& container) {
  const MutexLock one(one_at_a_time_);
  bool missing = false;
  {
    const MutexLock lock(core_.mutex);
    for (const auto& [resource, count] : container.limits) {
      missing |= count > 0 && core_.devices.Handles(resource) &&
                 core_.devices.pod_devices().Find({pod.uid, container.name, resource}) == nullptr;
    }
  }
  Reusable none;
  if (missing) TRY(AllocateContainer(pod, container, none));
  return {};
}

Status PodAdmission::Restart(const PodName& name, const std::string& container) {
  PodSpec pod;
  ContainerSpec spec;
  {
    const MutexLock lock(core_.mutex);
    const Pod* known = core_.pods.Find(name);
    if (known == nullptr) {
      return Fail(Reason::kNotFound, "no pod {}/{} runs", name.first, name.second);
    }
    const ContainerSpec* found = known->Find(container);
    if (found == nullptr) {
      return Fail(Reason::kNotFound, "pod {}/{} has no container {}", name.first, name.second,
                  container);
    }
    pod = known->spec;
    spec = *found;
  }
  return StartContainer(pod, spec);
}

void PodAdmission::ReadmitUnstarted() {
  std::vector<PodSpec> refused;
  {
    const MutexLock lock(core_.mutex);
    for (const auto& [name, pod] : core_.pods.all()) {
      for (const ContainerSpec& container : pod.spec.containers) {
        bool holds = !container.limits.empty();
        if (!holds || pod.started.contains(container.name)) continue;
        refused.push_back(pod.spec);
        break;
      }
    }
    for (const PodSpec& pod : refused) core_.pods.Remove({pod.pod_namespace, pod.name});
    if (!refused.empty()) core_.SavePods();
  }
  for (PodSpec& pod : refused) Run(std::move(pod));
}

}  // namespace tessera::kubelet::embedded
