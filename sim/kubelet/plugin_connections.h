// SPDX-License-Identifier: Apache-2.0
// kubelet's record of connected plugins, with the rules of both generations. It has their known
// faults too, as plugins must cope with them.
//
// Up to 1.36 the record is keyed by resource, and a newer client replaces an older one's entry.
// When the older stream ends, kubelet finds the newer client by name and disconnects it
// (kubernetes/kubernetes#121994). Since 1.37 the key is resource and socket path. In both, a failed
// registration removes its entry, and the earlier one that it replaced is lost too.
//
// Any thread; Connect blocks.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>

#include "sim/kubelet/core.h"
#include "sim/kubelet/plugin_client.h"

namespace tessera::kubelet::embedded {

class PluginConnections {
 public:
  explicit PluginConnections(Core& core) : core_(core) {}

  // Dials the plugin, asks for its options and starts to follow its list. The error's message is
  // kubelet's.
  Status Connect(const std::string& resource, const std::string& path, const DialLimit& limit);
  // Disconnects the client recorded for that resource (and path, since 1.37). False: none is.
  bool Disconnect(const std::string& resource, const std::string& path);
  // As EmbeddedKubelet::HangInStream, for the resource's present plugin. False: none is connected.
  bool HangInStream(const std::string& resource, bool on);
  // Disconnects the resource's present plugin. False: none is connected. The stream counts as ended
  // at once: when its real end arrives later, a plugin that has registered again is not
  // disconnected for it.
  bool Drop(const std::string& resource);
  // Deletes the capacity of resources whose plugin is gone for longer than the grace, now and
  // later. On the loop's thread.
  void WatchGrace();
  // Ends every connection.
  void CloseAll(bool abruptly);

 private:
  using ClientPtr = std::shared_ptr<PluginClient>;
  std::string KeyOf(const std::string& resource, const std::string& path) const;
  Status Establish(const ClientPtr& client, const DialLimit& limit);
  void Follow(const ClientPtr& client);
  void ListReceived(const std::string& resource, std::vector<ListedDevice> devices);
  void StreamEnded(const ClientPtr& client, const std::string& why);
  void HangUp(const ClientPtr& client);
  // The client of the resource's present plugin; nullptr: none is connected.
  ClientPtr Asked(const std::string& resource) const TESSERA_REQUIRES(core_.mutex);
  // Removes the client from the record; nullptr: there is none.
  ClientPtr TakeRecorded(const std::string& resource, const std::string& path)
      TESSERA_REQUIRES(core_.mutex);

  Core& core_;
  std::map<std::string, ClientPtr> recorded_ TESSERA_GUARDED_BY(core_.mutex);
  // Clients whose stream has neither ended nor been dropped, recorded or not.
  std::set<ClientPtr> open_ TESSERA_GUARDED_BY(core_.mutex);
  os::Loop::Handle grace_;  // the loop's thread
};

}  // namespace tessera::kubelet::embedded
