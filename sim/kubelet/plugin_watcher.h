// SPDX-License-Identifier: Apache-2.0
// The second way to register: sockets that appear below plugins_registry. kubelet gets them by
// inotify and acts once a second. Here the directory is read once a second, which a plugin cannot
// distinguish. Failures are retried with growing pauses. The loop's thread, unless noted.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "sim/kubelet/core.h"
#include "sim/kubelet/plugin_connections.h"

namespace tessera::kubelet::embedded {

class PluginWatcher {
 public:
  PluginWatcher(Core& core, PluginConnections& connections)
      : core_(core), connections_(connections) {}

  void Start();
  // Only while the loop does not run.
  void Stop() { tick_ = {}; }

 private:
  struct Registered {
    std::string resource;
    std::string endpoint;
  };
  // Identifies a socket. A successor at the same path may have the same inode. A change of mode or
  // owner does not change it.
  struct Identity {
    uint64_t device = 0;
    uint64_t inode = 0;
    int64_t born_ns = 0;
    bool operator==(const Identity&) const = default;
  };
  struct Socket {
    Identity identity;
    bool busy = false;                     // an attempt is in flight
    std::optional<Registered> registered;  // null: not registered yet
    Steady next_attempt{};
    Duration pause{0};  // until the next attempt, after a failure
  };

  using Found = std::map<std::string, Identity>;
  static void ScanInto(const std::string& directory, Found& found);
  void Reconcile();
  void Attempt(const std::string& path, Socket& socket);
  void AttemptEnded(const std::string& path, const Identity& identity, Result<Registered> result);
  // Runs on a worker.
  Result<Registered> Register(const std::string& path);

  Core& core_;
  PluginConnections& connections_;
  os::Loop::Handle tick_;
  std::map<std::string, Socket> sockets_;  // by path
};

}  // namespace tessera::kubelet::embedded
