// SPDX-License-Identifier: Apache-2.0
#include "sim/kubelet/plugin_connections.h"

#include <algorithm>

namespace tessera::kubelet::embedded {

using EventKind = KubeletEvent::Kind;

std::string PluginConnections::KeyOf(const std::string& resource, const std::string& path) const {
  return core_.options.rules == ConnectionRules::kUpTo136 ? resource : resource + '\n' + path;
}

Status PluginConnections::Connect(const std::string& resource, const std::string& path,
                                  const DialLimit& limit) {
  auto client = std::make_shared<PluginClient>(resource, path);
  {
    const MutexLock lock(core_.mutex);
    recorded_[KeyOf(resource, path)] = client;
  }
  Status established = Establish(client, limit);
  if (!established) {
    client->Close();
    const MutexLock lock(core_.mutex);
    recorded_.erase(KeyOf(resource, path));
    return established;
  }
  core_.Emit(EventKind::kRegistered, resource,
             fmt::format("{} registered from {}", resource, path));
  Follow(client);
  return {};
}

Status PluginConnections::Establish(const ClientPtr& client, const DialLimit& limit) {
  TRY(client->Connect(limit, core_.stopping));
  // If kubelet stops now, CloseAll does not see this client yet. The hook closes it.
  Cancellation::Hook hook(core_.stopping, [&] { client->Close(); });
  PluginOptions options = TRY(client->Options(limit));
  const MutexLock lock(core_.mutex);
  TRY(core_.devices.Attach(client->resource(), {client, client->path(), options, {}}));
  open_.insert(client);
  core_.Changed();
  return {};
}

void PluginConnections::Follow(const ClientPtr& client) {
  core_.Emit(EventKind::kStreamOpened, client->resource(),
             fmt::format("the list of {} is being followed", client->resource()));
  auto running = core_.outstanding.Begin();
  client->Watch({.list =
                     [this, resource = client->resource()](std::vector<ListedDevice> devices) {
                       core_.loop.Post([this, resource, devices = std::move(devices)]() mutable {
                         ListReceived(resource, std::move(devices));
                       });
                     },
                 .ended =
                     [this, client, running](const std::string& why) {
                       core_.loop.Post([this, client, why] { StreamEnded(client, why); });
                     }});
}

void PluginConnections::ListReceived(const std::string& resource,
                                     std::vector<ListedDevice> devices) {
  auto healthy = std::count_if(devices.begin(), devices.end(), [](auto& d) { return d.healthy; });
  std::string text = fmt::format("{}: {} of {} devices healthy", resource, healthy, devices.size());
  {
    const MutexLock lock(core_.mutex);
    core_.devices.SetDevices(resource, std::move(devices));
    core_.SaveCheckpoint();
    core_.Changed();
  }
  core_.Emit(EventKind::kList, resource, std::move(text));
}

void PluginConnections::StreamEnded(const ClientPtr& client, const std::string& why) {
  ClientPtr found;
  {
    const MutexLock lock(core_.mutex);
    const bool news = open_.erase(client) > 0;
    if (news) found = TakeRecorded(client->resource(), client->path());
  }
  core_.Emit(EventKind::kStreamEnded, client->resource(),
             fmt::format("the list of {} ended: {}", client->resource(), why));
  if (found) HangUp(found);
}

void PluginConnections::HangUp(const ClientPtr& client) {
  {
    const MutexLock lock(core_.mutex);
    core_.devices.Detach(client->resource(), client->path(), SystemClock().Now());
    core_.Changed();
  }
  client->Close();  // after Detach: a plugin that registers at once must not be detached
  core_.loop.Post([this] { WatchGrace(); });
}

PluginConnections::ClientPtr PluginConnections::TakeRecorded(const std::string& resource,
                                                             const std::string& path) {
  auto at = recorded_.find(KeyOf(resource, path));
  if (at == recorded_.end()) return nullptr;
  ClientPtr found = std::move(at->second);
  recorded_.erase(at);
  return found;
}

PluginConnections::ClientPtr PluginConnections::Asked(const std::string& resource) const {
  const DeviceManager::Plugin* plugin = core_.devices.PluginOf(resource);
  if (plugin == nullptr || plugin->stopped) return nullptr;
  auto at = recorded_.find(KeyOf(resource, plugin->path));
  return at == recorded_.end() ? nullptr : at->second;
}

bool PluginConnections::HangInStream(const std::string& resource, bool on) {
  MutexLock lock(core_.mutex);
  const ClientPtr found = Asked(resource);
  lock.unlock();  // HangInStream may deliver a list, which takes the lock
  if (found) found->HangInStream(on);
  return found != nullptr;
}

bool PluginConnections::Disconnect(const std::string& resource, const std::string& path) {
  MutexLock lock(core_.mutex);
  const ClientPtr found = TakeRecorded(resource, path);
  lock.unlock();
  if (found) HangUp(found);
  return found != nullptr;
}

bool PluginConnections::Drop(const std::string& resource) {
  MutexLock lock(core_.mutex);
  const ClientPtr found = Asked(resource);
  if (!found) return false;
  TakeRecorded(resource, found->path());
  open_.erase(found);
  lock.unlock();
  HangUp(found);
  return true;
}

void PluginConnections::WatchGrace() {
  std::optional<Steady> next;
  {
    const MutexLock lock(core_.mutex);
    if (core_.devices.DeleteExpired(SystemClock().Now())) {
      core_.SaveCheckpoint();
      core_.Changed();
    }
    next = core_.devices.NextExpiry();
  }
  grace_ = next ? core_.loop.After(*next - SystemClock().Now(), [this] { WatchGrace(); })
                : os::Loop::Handle();
}

void PluginConnections::CloseAll(bool abruptly) {
  std::set<ClientPtr> open;
  {
    const MutexLock lock(core_.mutex);
    recorded_.clear();
    open = open_;
  }
  for (const ClientPtr& client : open) client->Close(abruptly);
}

}  // namespace tessera::kubelet::embedded
