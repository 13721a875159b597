// SPDX-License-Identifier: Apache-2.0
#include "agent/resource_set.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "backend/kind.h"
#include "base/log.h"
#include "config/schema/family.h"
#include "device/compose.h"
#include "grant/grant.h"

namespace tessera::agent {
namespace {

constexpr Duration kRefreshPause{60'000};

bool MayHave(const config::Resource& family, const std::string& name) {
  if (!config::IsFamily(family.name)) return false;
  const std::optional<std::string> profile = config::ProfileIn(family.name, name);
  return profile && KindOf(family)->families->MayHave(family, *profile);
}

}  // namespace

std::optional<config::Resource> ResourceNamed(const config::Config& config,
                                              const std::string& name) {
  for (const config::Resource& resource : config.resources) {
    if (resource.name == name) return resource;
  }
  for (const config::Resource& resource : config.resources) {
    if (MayHave(resource, name)) return config::Member(resource, name);
  }
  return std::nullopt;
}

ResourceSet::ResourceSet(ServedResource::Surroundings at, GrantKeeper& grants,
                         std::function<void()> changed)
    : at_(std::move(at)), grants_(grants), changed_(std::move(changed)) {}

void ResourceSet::Open(const config::Config& config, kubelet::RegistrationPath path,
                       const kubelet::Directories& directories) {
  Close();
  config_ = config;
  path_ = path;
  directories_ = directories;
  for (const config::Resource& resource : config_.resources) {
    if (!config::IsFamily(resource.name)) Add(resource);
  }
  AddHeld();
  AddKnown();
  SetFamilies();
  changed_();
}

void ResourceSet::Close() {
  families_.clear();
  served_.clear();
}

void ResourceSet::Apply(const config::Config& config) {
  config_ = config;
  for (auto at = served_.begin(); at != served_.end();) {
    const auto resource = ResourceNamed(config_, at->first);
    // The agent's settings affect every resource, so unchanged ones get them too.
    if (resource) at->second->Apply(config_, *resource);
    at = resource ? std::next(at) : Remove(at);
  }
  for (const config::Resource& resource : config_.resources) {
    const bool family = config::IsFamily(resource.name);
    if (!family && !served_.contains(resource.name)) Add(resource);
  }
  SetFamilies();
  changed_();
}

void ResourceSet::Add(const config::Resource& resource) {
  auto served = std::make_unique<ServedResource>(at_, grants_.binder(), config_, resource, path_,
                                                 directories_);
  const Kind& kind = *KindOf(resource);
  at_.node.Configure(resource.name, kind.ids_are_of_hardware, std::string(kind.section.name));
  ServedResource& started = *served;
  served_[resource.name] = std::move(served);
  if (released_) started.SetReleased(released_);
  started.Start();
}

ServedResources::iterator ResourceSet::Remove(ServedResources::iterator at) {
  const std::string name = at->first;
  const auto next = served_.erase(at);
  at_.node.Retire(name);
  if (!at_.node.ledger().AnyMayBeInUse(name)) at_.cdi.DropResource(name);
  at_.metrics.ForgetGauges(name);
  return next;
}

// Adds devices that a container holds though no state of them is left, if they are made of others.
// A scan would find them last, and perhaps make others; their parts would be granted meanwhile.
void ResourceSet::AddHeld() {
  for (const auto& [name, served] : served_) {
    const auto parts_of = KindOf(served->resource())->parts_of;
    if (parts_of == nullptr) continue;
    std::vector<Device> devices;
    for (const Device& device : at_.node.inventory()->devices) {
      if (device.key.source == name) devices.push_back(device);
    }
    for (const std::string& id : at_.node.ledger().HeldIds(name)) {
      const DeviceKey key{name, DeviceOfShare(id)};
      if (std::ranges::count(devices, key, &Device::key) > 0) continue;
      DeviceTraits traits{.parts = parts_of(served->resource(), key.id)};
      for (const DeviceKey& part : traits.parts) traits.takes.push_back(PartName(part));
      Device& held = devices.emplace_back();
      held.key = key;
      held.present = false;
      held.traits = std::move(traits);
    }
    at_.node.UpdateDevices(name, std::move(devices));
  }
}

// Serves known devices before the first scan finds them, because containers may hold them. Devices
// of a resource that is not served are retired, so that no other resource offers them.
void ResourceSet::AddKnown() {
  std::set<std::string> sources;
  for (const Device& device : at_.node.inventory()->devices) sources.insert(device.key.source);
  AddMembers(sources);
  for (const std::string& source : sources) {
    if (!served_.contains(source)) at_.node.Retire(source);
  }
}

void ResourceSet::SetFamilies() {
  std::vector<std::unique_ptr<Family>> former = std::exchange(families_, {});
  for (const config::Resource& resource : config_.resources) {
    if (!config::IsFamily(resource.name)) continue;
    const auto same = std::find_if(former.begin(), former.end(), [&](const auto& family) {
      return family != nullptr && family->resource() == resource;
    });
    families_.push_back(same != former.end()
                            ? std::move(*same)
                            : std::make_unique<Family>(at_.loop, config_, resource,
                                                       released_.has_value(), at_.found,
                                                       [this] { SettleFamilies(); }));
  }
}

bool ResourceSet::IsConfigured(const std::string& name) const {
  return std::ranges::count(config_.resources, name, &config::Resource::name) > 0;
}

void ResourceSet::SettleFamilies() {
  std::set<std::string> found;
  std::vector<FoundDevices::Family> families;
  for (const auto& family : families_) {
    if (family->members()) found.insert(family->members()->begin(), family->members()->end());
    families.push_back({.resource = family->resource(),
                        .members = family->members(),
                        .may_have = [resource = family->resource()](const std::string& name) {
                          return MayHave(resource, name);
                        }});
  }
  const bool added = AddMembers(found);
  const bool ended = EndMembers(found);
  at_.found->SetFamilies(std::move(families));  // after the members that were added
  if (added || ended) changed_();
}

bool ResourceSet::AddMembers(const std::set<std::string>& found) {
  bool added = false;
  for (const std::string& name : found) {
    if (IsConfigured(name)) {
      const bool of_family = std::ranges::any_of(
          families_, [&](const auto& family) { return MayHave(family->resource(), name); });
      if (of_family && told_.insert(name).second) {
        log::Warn(
            "devices are not served: a family found them, but their resource is configured without "
            "them",
            {{"resource", name}});
      }
      continue;
    }
    const auto resource = ResourceNamed(config_, name);
    if (!resource || served_.contains(name)) continue;
    log::Info("resource of a family added", {{"resource", name}});
    Add(*resource);
    added = true;
  }
  return added;
}

bool ResourceSet::EndMembers(const std::set<std::string>& found) {
  bool ended = false;
  for (auto at = served_.begin(); at != served_.end();) {
    const bool ends = !IsConfigured(at->first) && !found.contains(at->first) && MayEnd(at->first);
    if (ends) log::Info("resource of a family ended", {{"resource", at->first}});
    at = ends ? Remove(at) : std::next(at);
    ended |= ends;
  }
  return ended;
}

// True if every family that may have it has scanned, no device is left, and no share may be held.
bool ResourceSet::MayEnd(const std::string& name) const {
  const DeviceList& devices = at_.node.inventory()->devices;
  return std::ranges::all_of(families_,
                             [&](const auto& family) {
                               return family->members() || !MayHave(family->resource(), name);
                             }) &&
         std::none_of(devices.begin(), devices.end(),
                      [&](const Device& device) { return device.key.source == name; }) &&
         !at_.node.ledger().AnyMayBeInUse(name);
}

ServedResource* ResourceSet::Find(const std::string& name) const {
  const auto at = served_.find(name);
  return at == served_.end() ? nullptr : at->second.get();
}

void ResourceSet::RescanSoon() {
  for (auto& [name, resource] : served_) resource->RescanSoon();
  for (auto& family : families_) family->RescanSoon();
}

void ResourceSet::LearnReset(const Device& device) {
  for (auto& [name, resource] : served_) resource->backend().LearnReset(device);
}

void ResourceSet::SetReleased(std::optional<Error> released) {
  released_ = std::move(released);
  for (auto& family : families_) family->SetReleased(released_.has_value());
  for (auto& [name, resource] : served_) resource->SetReleased(released_);
}

std::vector<std::string> ResourceSet::Released() const {
  std::vector<std::string> names;
  for (const auto& [name, resource] : served_) {
    if (resource->released()) names.push_back(name);
  }
  for (const auto& family : families_) {
    if (family->released()) names.push_back(family->resource().name);
  }
  return names;
}

std::vector<std::string> ResourceSet::ReleaseHeldBy() const {
  std::set<std::string> held;
  const auto add = [&](const Backend& backend) {
    for (std::string& each : backend.HeldBy()) held.insert(std::move(each));
  };
  for (const auto& [name, resource] : served_) {
    if (resource->released()) add(resource->backend());
  }
  for (const auto& family : families_) add(family->backend());
  return {held.begin(), held.end()};
}

void ResourceSet::PollKubelet() {
  for (auto& [name, resource] : served_) resource->PollFiles();
}

bool ResourceSet::Compare(const std::map<std::string, int>& allocatable) {
  bool sure = true;
  for (auto& [name, resource] : served_) {
    const auto at = allocatable.find(name);
    sure &= resource->offering().Compare(at == allocatable.end() ? 0 : at->second);
  }
  return sure;
}

bool ResourceSet::RefreshCheckpoint() {
  if (!at_.node.ledger().AnyUnlisted()) return false;
  const Steady now = SystemClock().Now();
  const bool waits = AnyWaitsForHolders() || at_.preparations->AnyLeft() ||
                     grants_.binder()->AnyLacksCapacity() || at_.node.AnyVanished() ||
                     !at_.node.retired().empty() || at_.node.ledger().AnyMayHaveEnded();
  if (refreshed_ && (!waits || now - *refreshed_ < kRefreshPause)) return false;
  const auto streaming = [](const auto& item) {
    return item.second->offering().streaming() && item.second->offering().published();
  };
  const auto at = std::ranges::find_if(served_, streaming);
  if (at == served_.end()) return false;
  refreshed_ = now;
  at->second->offering().Republish();
  return true;
}

std::set<std::string> ResourceSet::TrackedResources() const {
  std::set<std::string> names = at_.node.retired();
  for (const auto& [name, resource] : served_) names.insert(name);
  return names;
}

std::set<std::string> ResourceSet::BoundLate() const {
  std::set<std::string> names;
  for (const auto& [name, resource] : served_) {
    if (resource->resource().rendering.fractions) names.insert(name);
  }
  return names;
}

ResourceSet::RetiredEnd ResourceSet::EndRetired(const std::map<std::string, int>& allocatable) {
  RetiredEnd end;
  bool ended = false;
  for (const std::string& name : at_.node.retired()) {
    const auto at = allocatable.find(name);
    if (at != allocatable.end() && at->second > 0) {
      end.sure = false;
      continue;
    }
    std::ranges::move(at_.node.EndRetired(name), std::back_inserter(end.changes));
    if (at_.node.retired().contains(name)) continue;
    at_.cdi.DropResource(name);
    ended = true;
  }
  if (ended) changed_();
  return end;
}

bool ResourceSet::AnyStreaming() const {
  return std::any_of(served_.begin(), served_.end(),
                     [](const auto& item) { return item.second->offering().streaming(); });
}

bool ResourceSet::AllStreaming() const {
  return std::all_of(served_.begin(), served_.end(),
                     [](const auto& item) { return item.second->offering().streaming(); });
}

bool ResourceSet::AllDescribed() const {
  return std::ranges::all_of(served_, [](const auto& item) { return item.second->described(); }) &&
         std::ranges::all_of(families_, [](const auto& family) {
           return family->members() || !WritesCdi(family->resource().rendering);
         });
}

bool ResourceSet::AnyWaitsForHolders() const {
  return std::any_of(served_.begin(), served_.end(),
                     [](const auto& item) { return item.second->waiting() > 0; });
}

std::set<std::string> ResourceSet::SocketPaths() const {
  std::set<std::string> paths;
  for (const auto& [name, resource] : served_)
    paths.insert(resource->offering().plugin().socket_path());
  paths.erase("");  // resources without an endpoint
  return paths;
}

bool ResourceSet::Ready() const {
  return std::all_of(served_.begin(), served_.end(),
                     [](const auto& item) {
                       const ServedResource& resource = *item.second;
                       return resource.ready() || resource.refusal() || resource.released();
                     }) &&
         std::ranges::all_of(families_, &Family::looked);
}

std::string ResourceSet::NotReady() const {
  std::string text;
  for (const auto& [name, resource] : served_) {
    if (resource->released() && !resource->refusal()) {
      text += fmt::format("{}: {}\n", name, resource->released()->Text());
    } else if (resource->trouble()) {
      text += resource->trouble()->Text() + "\n";
    } else if (!resource->offering().streaming()) {
      text += fmt::format("{}: {}\n", name,
                          kubelet::PluginStateName(resource->offering().plugin().state()));
    }
  }
  for (const auto& family : families_) {
    if (family->looked()) continue;
    text += fmt::format("{}: not discovered yet\n", family->resource().name);
  }
  return text;
}

}  // namespace tessera::agent
