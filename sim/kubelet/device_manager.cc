// SPDX-License-Identifier: Apache-2.0
#include "sim/kubelet/device_manager.h"

#include <algorithm>
#include <iterator>

#include "base/text.h"

namespace tessera::kubelet::embedded {
namespace {

constexpr int64_t kNoNuma = -1;  // kubelet's key for devices without topology

bool Includes(const Ids& all, const std::vector<std::string>& some) {
  return std::all_of(some.begin(), some.end(), [&](const auto& id) { return all.contains(id); });
}

}  // namespace

DeviceManager::DeviceManager(ConnectionRules rules, Duration grace, uint64_t seed)
    : rules_(rules), grace_(grace), random_(seed) {}

Status DeviceManager::Attach(const std::string& resource, Plugin plugin) {
  Resource& known = plugins_[resource];
  if (rules_ == ConnectionRules::kFrom137) {
    if (known.connected.contains(plugin.path)) {
      return Fail(Reason::kRegisterFailed, "device plugin already connected: {}", plugin.path);
    }
    known.connected[plugin.path] = plugin;
  }
  known.current = std::move(plugin);
  return {};
}

bool DeviceManager::Detach(const std::string& resource, const std::string& path, Steady now) {
  auto found = plugins_.find(resource);
  if (found == plugins_.end()) return false;
  Resource& known = found->second;
  if (rules_ == ConnectionRules::kFrom137) {
    if (known.connected.erase(path) == 0) return false;
    if (!known.connected.empty()) {
      if (known.current.path == path) known.current = known.connected.begin()->second;
      return false;
    }
  }
  MarkUnhealthy(resource);
  known.current.stopped = now;
  return true;
}

void DeviceManager::MarkUnhealthy(const std::string& resource) {
  Devices& devices = devices_[resource];
  devices.unhealthy.merge(devices.healthy);
  devices.healthy.clear();
  reported_.insert(resource);
}

void DeviceManager::SetDevices(const std::string& resource, std::vector<ListedDevice> devices) {
  Devices& counted = devices_[resource];
  auto& listed = listed_[resource];
  counted = {};
  listed.clear();
  for (ListedDevice& device : devices) {
    (device.healthy ? counted.healthy : counted.unhealthy).insert(device.id);
    std::string id = device.id;
    listed[id] = std::move(device);
  }
  reported_.insert(resource);
}

bool DeviceManager::DeleteExpired(Steady now) {
  size_t before = devices_.size();
  std::erase_if(devices_, [&](const auto& item) {
    auto found = plugins_.find(item.first);
    if (found == plugins_.end()) return true;
    const auto& stopped = found->second.current.stopped;
    if (!stopped || now - *stopped < grace_) return false;
    plugins_.erase(found);
    return true;
  });
  return devices_.size() != before;
}

std::optional<Steady> DeviceManager::NextExpiry() const {
  std::optional<Steady> next;
  for (const auto& [resource, plugin] : plugins_) {
    if (!plugin.current.stopped) continue;
    Steady expiry = *plugin.current.stopped + grace_;
    if (!next || expiry < *next) next = expiry;
  }
  return next;
}

const DeviceManager::Plugin* DeviceManager::PluginOf(const std::string& resource) const {
  auto found = plugins_.find(resource);
  return found == plugins_.end() ? nullptr : &found->second.current;
}

bool DeviceManager::Handles(const std::string& resource) const {
  return devices_.contains(resource) || in_use_.contains(resource);
}

Result<DeviceManager::Selection> DeviceManager::Begin(const Claim& claim, int required,
                                                      const Ids& reusable) {
  const std::string& resource = claim.resource;
  Selection selection;
  selection.needed = required;
  std::vector<std::string> held;
  if (const CheckpointEntry* entry = pod_devices_.Find(claim)) {
    held = entry->ids();
    selection.needed -= static_cast<int>(held.size());
    if (selection.needed != 0) {
      return Fail(Reason::kInvalid,
                  R"(pod "{}" container "{}" changed request for resource "{}" from {} to {})",
                  claim.pod_uid, claim.container, resource, held.size(), required);
    }
  }
  auto known = devices_.find(resource);
  if (known == devices_.end()) {
    return Fail(Reason::kNotOffered, "cannot allocate unregistered device {}", resource);
  }
  if (known->second.healthy.empty()) {
    return Fail(Reason::kUnhealthyShare,
                "no healthy devices present; cannot allocate unhealthy devices {}", resource);
  }
  if (!Includes(known->second.healthy, held)) {
    return Fail(Reason::kUnhealthyShare,
                "previously allocated devices are no longer healthy; cannot allocate unhealthy "
                "devices {}",
                resource);
  }
  selection.empty_handed = selection.needed == 0;
  if (selection.empty_handed) return selection;
  Take(resource, reusable, selection);
  if (selection.needed == 0) return selection;
  const Ids& in_use = in_use_[resource];
  std::set_difference(known->second.healthy.begin(), known->second.healthy.end(), in_use.begin(),
                      in_use.end(), std::inserter(selection.available, selection.available.end()));
  if (static_cast<int>(selection.available.size()) < selection.needed) {
    return Fail(Reason::kUnavailable,
                "requested number of devices unavailable for {}. Requested: {}, Available: {}",
                resource, selection.needed, selection.available.size());
  }
  return selection;
}

Status DeviceManager::Complete(const Claim& claim, int required, Selection& selection,
                               const Ids& preferred) {
  Ids wanted;
  std::set_intersection(preferred.begin(), preferred.end(), selection.available.begin(),
                        selection.available.end(), std::inserter(wanted, wanted.end()));
  Take(claim.resource, wanted, selection);
  Take(claim.resource, selection.available, selection);
  if (selection.needed == 0) return {};
  return Fail(Reason::kInternal,
              "unexpectedly allocated less resources than required. Requested: {}, Got: {}",
              required, required - selection.needed);
}

void DeviceManager::Take(const std::string& resource, const Ids& from, Selection& selection) {
  for (const std::string& id : InRandomOrder(from)) {
    if (selection.needed == 0) return;
    if (!selection.chosen.insert(id).second) continue;
    in_use_[resource].insert(id);
    --selection.needed;
  }
}

void DeviceManager::Keep(const Claim& claim, const Ids& ids, std::string response) {
  CheckpointEntry entry{claim.pod_uid, claim.container, claim.resource, {}, std::move(response)};
  const auto& listed = listed_[claim.resource];
  for (const std::string& id : ids) {
    auto found = listed.find(id);
    bool placed = found != listed.end() && found->second.numa && !found->second.numa->empty();
    for (int64_t node : placed ? *found->second.numa : std::vector<int64_t>{kNoNuma}) {
      entry.ids_by_numa[std::to_string(node)].push_back(id);
    }
  }
  pod_devices_.Put(std::move(entry));
}

void DeviceManager::ReleaseUnkept() {
  in_use_ = pod_devices_.InUse();
}

void DeviceManager::CollectGarbage(const Ids& active) {
  bool removed = false;
  for (const std::string& uid : pod_devices_.Pods()) {
    if (active.contains(uid)) continue;
    pod_devices_.Remove(uid);
    removed = true;
  }
  // Only then does kubelet count again; leftovers of a failed Allocate stay until then.
  if (removed) ReleaseUnkept();
}

std::vector<std::string> DeviceManager::InRandomOrder(const Ids& ids) {
  std::vector<std::string> shuffled(ids.begin(), ids.end());
  std::shuffle(shuffled.begin(), shuffled.end(), random_);
  return shuffled;
}

std::vector<ResourceStatus> DeviceManager::Resources() const {
  std::set<std::string> names = reported_;
  for (const auto& [name, plugin] : plugins_) names.insert(name);
  std::vector<ResourceStatus> resources;
  for (const std::string& name : names) {
    ResourceStatus& status = resources.emplace_back();
    status.name = name;
    const Plugin* plugin = PluginOf(name);
    status.connected = plugin != nullptr && plugin->endpoint != nullptr && !plugin->stopped;
    auto counted = devices_.find(name);
    if (counted == devices_.end()) continue;
    auto list = listed_.find(name);
    auto add = [&](const std::string& id, bool healthy) {
      DeviceStatus& device = status.devices.emplace_back();
      device.id = id;
      device.healthy = healthy;
      if (list == listed_.end()) return;
      auto known = list->second.find(id);
      if (known == list->second.end() || !known->second.numa) return;
      for (int64_t node : *known->second.numa) device.numa_nodes.push_back(static_cast<int>(node));
    };
    for (const std::string& id : counted->second.healthy) add(id, true);
    for (const std::string& id : counted->second.unhealthy) add(id, false);
    status.allocatable = static_cast<int>(counted->second.healthy.size());
    status.capacity = static_cast<int>(status.devices.size());
    std::stable_sort(status.devices.begin(), status.devices.end(),
                     [](const auto& a, const auto& b) { return NaturalLess()(a.id, b.id); });
  }
  return resources;
}

std::vector<std::pair<std::string, ListedDevice>> DeviceManager::Allocatable() const {
  std::vector<std::pair<std::string, ListedDevice>> all;
  for (const auto& [resource, devices] : devices_) {
    auto list = listed_.find(resource);
    if (list == listed_.end()) continue;
    for (const auto& [id, device] : list->second) {
      if (devices.healthy.contains(id)) all.emplace_back(resource, device);
    }
  }
  return all;
}

std::optional<int> DeviceManager::AllocatableCount(const std::string& resource) const {
  if (!reported_.contains(resource)) return {};
  auto devices = devices_.find(resource);
  return devices == devices_.end() ? 0 : static_cast<int>(devices->second.healthy.size());
}

Checkpoint DeviceManager::Save() const {
  Checkpoint checkpoint{.entries = pod_devices_.Entries(), .registered = {}};
  for (const auto& [resource, devices] : devices_) {
    checkpoint.registered[resource].assign(devices.healthy.begin(), devices.healthy.end());
  }
  return checkpoint;
}

void DeviceManager::Restore(const Checkpoint& checkpoint, Steady now) {
  for (const CheckpointEntry& entry : checkpoint.entries) pod_devices_.Put(entry);
  ReleaseUnkept();
  for (const auto& [resource, ids] : checkpoint.registered) {
    devices_[resource] = {};
    plugins_[resource].current = {.endpoint = nullptr, .path = {}, .options = {}, .stopped = now};
    reported_.insert(resource);
  }
}

}  // namespace tessera::kubelet::embedded
