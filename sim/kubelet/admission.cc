// SPDX-License-Identifier: Apache-2.0
#include "sim/kubelet/admission.h"

#include <random>

#include "base/text.h"
#include "kubelet/wire.h"

namespace tessera::kubelet::embedded {
namespace {

using Kind = ContainerSpec::Kind;
using EventKind = KubeletEvent::Kind;

std::string MakeUid() {
  std::random_device random;
  auto word = [&] { return random() & 0xffffU; };
  return fmt::format("{:04x}{:04x}-{:04x}-{:04x}-{:04x}-{:04x}{:04x}{:04x}", word(), word(), word(),
                     0x4000U | (word() & 0x0fffU), 0x8000U | (word() & 0x3fffU), word(), word(),
                     word());
}

// kubelet's order: init containers and sidecars, then the others.
std::vector<ContainerSpec> InOrder(const PodSpec& pod) {
  std::vector<ContainerSpec> ordered;
  for (bool app : {false, true}) {
    for (const ContainerSpec& container : pod.containers) {
      if ((container.kind == Kind::kApp) == app) ordered.push_back(container);
    }
  }
  return ordered;
}

// The checks of the API server.
Status CheckSpec(const PodSpec& pod, const Pods& pods) {
  if (pod.name.empty()) return Fail(Reason::kInvalid, "the pod has no name");
  if (pods.Find({pod.pod_namespace, pod.name}) != nullptr) {
    return Fail(Reason::kInvalid, R"(pods "{}" already exists)", pod.name);
  }
  std::set<std::string> names;
  for (const ContainerSpec& container : pod.containers) {
    if (container.name.empty()) return Fail(Reason::kInvalid, "a container has no name");
    if (!names.insert(container.name).second) {
      return Fail(Reason::kInvalid, R"(container name "{}" is used twice)", container.name);
    }
    for (const auto& [resource, count] : container.limits) {
      if (count < 0) return Fail(Reason::kInvalid, "the limit of {} is negative", resource);
    }
  }
  return {};
}

}  // namespace

Admission PodAdmission::Run(PodSpec pod) {
  if (pod.uid.empty()) pod.uid = MakeUid();
  Admission admission = Admit(pod);
  std::string name = pod.pod_namespace + "/" + pod.name;
  if (!admission.admitted) {
    core_.Emit(
        EventKind::kRefused, "",
        fmt::format("pod {} was refused: {}: {}", name, admission.reason, admission.message));
    return admission;
  }
  std::string held;
  for (const ContainerGrant& grant : admission.grants) {
    held += fmt::format("; {} has {} {}", grant.container, grant.resource, Join(grant.ids, ","));
  }
  core_.Emit(EventKind::kAdmitted, "", fmt::format("pod {} was admitted{}", name, held));
  StartContainers(pod, admission);
  return admission;
}

Admission PodAdmission::Admit(PodSpec pod) {
  const MutexLock one(one_at_a_time_);
  Admission admission{
      .uid = pod.uid, .reason = {}, .message = {}, .grants = {}, .start_failures = {}};
  auto refuse = [&](std::string reason, std::string message) {
    admission.reason = std::move(reason);
    admission.message = std::move(message);
    return admission;
  };
  if (core_.stopping.cancelled()) return refuse("KubeletStopped", "the kubelet has stopped");
  {
    const MutexLock lock(core_.mutex);
    if (Status valid = CheckSpec(pod, core_.pods); !valid) {
      return refuse("Invalid", valid.error().message);
    }
    core_.pending = {pod.uid};
  }
  Status allocated = AllocatePod(pod);
  const MutexLock lock(core_.mutex);
  core_.pending.clear();
  core_.Changed();
  if (!allocated && core_.stopping.cancelled()) {
    return refuse("KubeletStopped", allocated.error().message);
  }
  if (!allocated) {
    return refuse(
        "UnexpectedAdmissionError",
        fmt::format("Allocate failed due to {}, which is unexpected", allocated.error().message));
  }
  std::string reason;
  if (Status fits = CheckCapacity(pod, reason); !fits) return refuse(reason, fits.error().message);
  admission.admitted = true;
  admission.grants = GrantsOf(core_, pod);
  core_.pods.Put({.spec = std::move(pod), .started = {}});
  core_.SavePods();
  return admission;
}

Status PodAdmission::AllocatePod(const PodSpec& pod) {
  Reusable reusable;
  for (const ContainerSpec& container : InOrder(pod)) {
    TRY(AllocateContainer(pod, container, reusable));
    const MutexLock lock(core_.mutex);
    for (const auto& [resource, count] : container.limits) {
      const auto* entry = core_.devices.pod_devices().Find({pod.uid, container.name, resource});
      if (entry == nullptr) continue;
      for (const std::string& id : entry->ids()) {
        if (container.kind == Kind::kInit) {
          reusable[resource].insert(id);
        } else {
          reusable[resource].erase(id);
        }
      }
    }
  }
  return {};
}

std::vector<std::pair<std::string, int>> PodAdmission::LimitsInRandomOrder(
    const ContainerSpec& container) {
  Ids names;
  for (const auto& [resource, count] : container.limits) names.insert(resource);
  std::vector<std::pair<std::string, int>> limits;
  const MutexLock lock(core_.mutex);
  for (const std::string& name : core_.devices.InRandomOrder(names)) {
    limits.emplace_back(name, container.limits.at(name));
  }
  return limits;
}

Status PodAdmission::AllocateContainer(const PodSpec& pod, const ContainerSpec& container,
                                       Reusable& reusable) {
  bool collected = false;
  for (const auto& [resource, count] : LimitsInRandomOrder(container)) {
    {
      const MutexLock lock(core_.mutex);
      if (!core_.devices.Handles(resource)) continue;
      if (!collected) core_.CollectGarbage();
      collected = true;
    }
    TRY(AllocateResource({pod.uid, container.name, resource}, count, reusable[resource]));
  }
  return {};
}

Status PodAdmission::AllocateResource(const Claim& claim, int required, const Ids& reusable) {
  Ids chosen = TRY(Choose(claim, required, reusable));
  if (chosen.empty()) return {};
  DeviceManager::Plugin plugin;
  std::vector<std::string> ids;
  {
    const MutexLock lock(core_.mutex);
    const DeviceManager::Plugin* known = core_.devices.PluginOf(claim.resource);
    if (known == nullptr) {
      core_.devices.ReleaseUnkept();
      return Fail(Reason::kNotOffered, "unknown Device Plugin {}", claim.resource);
    }
    plugin = *known;
    ids = core_.devices.InRandomOrder(chosen);
  }
  Result<std::vector<std::string>> responses =
      plugin.stopped || plugin.endpoint == nullptr
          ? Fail(Reason::kUnavailable, "endpoint {} has been stopped", claim.resource)
          : plugin.endpoint->Allocate(ids);
  const MutexLock lock(core_.mutex);
  if (!responses) {
    core_.devices.ReleaseUnkept();
    return Fail(responses.error());
  }
  if (responses->empty()) {
    // The devices stay taken until kubelet counts again.
    return Fail(Reason::kInvalid,
                "no containers return in allocation response "
                "&AllocateResponse{{ContainerResponses:[]*ContainerAllocateResponse{{}},}}");
  }
  core_.devices.Keep(claim, chosen, responses->front());
  core_.SaveCheckpoint();
  core_.Changed();
  return {};
}

Result<Ids> PodAdmission::Choose(const Claim& claim, int required, const Ids& reusable) {
  DeviceManager::Selection selection;
  {
    const MutexLock lock(core_.mutex);
    selection = TRY(core_.devices.Begin(claim, required, reusable));
  }
  if (selection.needed == 0) return selection.chosen;
  Ids preferred = TRY(Prefer(claim, required, selection.available, selection.chosen));
  const MutexLock lock(core_.mutex);
  TRY(core_.devices.Complete(claim, required, selection, preferred));
  return selection.chosen;
}

Result<Ids> PodAdmission::Prefer(const Claim& claim, int required, const Ids& available,
                                 const Ids& chosen) {
  DeviceManager::Plugin plugin;
  std::vector<std::string> offered;
  std::vector<std::string> must_include;
  {
    const MutexLock lock(core_.mutex);
    const DeviceManager::Plugin* known = core_.devices.PluginOf(claim.resource);
    if (known == nullptr) {
      return Fail(Reason::kNotOffered, "endpoint not found in cache for a registered resource: {}",
                  claim.resource);
    }
    plugin = *known;
    if (!plugin.options || !plugin.options->preferred_allocation) return Ids{};
    Ids all = available;
    all.insert(chosen.begin(), chosen.end());
    offered = core_.devices.InRandomOrder(all);
    must_include = core_.devices.InRandomOrder(chosen);
  }
  Result<std::vector<std::string>> answer =
      plugin.stopped ? Fail(Reason::kUnavailable, "endpoint {} has been stopped", claim.resource)
                     : plugin.endpoint->Prefer(offered, must_include, required);
  if (!answer) {
    return Fail(Reason::kUnavailable,
                "device plugin GetPreferredAllocation rpc failed with err: {}",
                answer.error().message);
  }
  return Ids(answer->begin(), answer->end());
}

// kubelet would admit a resource that the node never had, as the scheduler sends no such pod. Here
// it is refused, so that a misspelt name is seen.
Status PodAdmission::CheckCapacity(const PodSpec& pod, std::string& reason) {
  for (const auto& [resource, requested] : RequestsOf(pod)) {
    if (requested == 0 || core_.devices.Handles(resource)) continue;
    int used = 0;
    for (const auto& [name, other] : core_.pods.all()) {
      auto requests = RequestsOf(other.spec);
      auto found = requests.find(resource);
      if (found != requests.end()) used += found->second;
    }
    reason = "OutOf" + resource;
    return Fail(Reason::kUnavailable,
                "Node didn't have enough resource: {}, requested: {}, used: {}, capacity: {}",
                resource, requested, used, core_.devices.AllocatableCount(resource).value_or(0));
  }
  return {};
}

std::vector<ContainerGrant> PodAdmission::GrantsOf(const Core& core, const PodSpec& pod) {
  std::vector<ContainerGrant> grants;
  for (const ContainerSpec& container : pod.containers) {
    for (const CheckpointEntry* entry : core.devices.pod_devices().Of(pod.uid)) {
      if (entry->container != container.name) continue;
      grants.push_back({entry->container, entry->resource, entry->ids(), entry->grant()});
    }
  }
  return grants;
}

Status PodAdmission::End(const PodName& name) {
  {
    const MutexLock lock(core_.mutex);
    if (!core_.pods.Remove(name)) {
      return Fail(Reason::kNotFound, "no pod {}/{} runs", name.first, name.second);
    }
    core_.SavePods();
    core_.Changed();
  }
  core_.Emit(EventKind::kPodEnded, "", fmt::format("pod {}/{} ended", name.first, name.second));
  return {};
}

}  // namespace tessera::kubelet::embedded
