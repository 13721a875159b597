// SPDX-License-Identifier: Apache-2.0
// Who is connected: kubelet's record of plugin clients, with the rules of both generations, their
// known faults included, since plugins must live with them.
//
// Up to 1.36 the record is by resource: a newer client replaces the older one's entry, and when the
// older stream ends, the entry found by name is the newer client, which is disconnected
// (kubernetes/kubernetes#121994). From 1.37 it is by resource and socket path. In both, a failed
// registration takes the entry away that it had put there, and with it whatever stood there before.
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

  // Dials the plugin, asks for its options and begins to follow its list. The error's message is
  // kubelet's.
  Status Connect(const std::string& resource, const std::string& path, const DialLimit& limit);
  // Hangs up on the client recorded for that resource (and path, from 1.37); false when none is.
  bool Disconnect(const std::string& resource, const std::string& path);
  // As EmbeddedKubelet::HangInStream, of the plugin that kubelet now asks for the resource; false
  // when none is connected.
  bool HangInStream(const std::string& resource, bool on);
  // Hangs up on the plugin that kubelet now asks for the resource; false when none is connected.
  // Its stream counts as ended at once: a plugin that registers again as soon as it sees that is
  // not hung up on in its place, however late the end comes to be known here.
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
  // That of the plugin kubelet now asks for the resource; nullptr where none is connected.
  ClientPtr Asked(const std::string& resource) const TESSERA_REQUIRES(core_.mutex);
  // Takes the client out of the record; nullptr where there is none.
  ClientPtr TakeRecorded(const std::string& resource, const std::string& path)
      TESSERA_REQUIRES(core_.mutex);

  Core& core_;
  std::map<std::string, ClientPtr> recorded_ TESSERA_GUARDED_BY(core_.mutex);
  // Recorded or not, until their stream has ended or was dropped.
  std::set<ClientPtr> open_ TESSERA_GUARDED_BY(core_.mutex);
  os::Loop::Handle grace_;  // the loop's thread
};

}  // namespace tessera::kubelet::embedded
