// SPDX-License-Identifier: Apache-2.0
// The second way to register: sockets that appear anywhere below plugins_registry. kubelet notes
// them by inotify and acts once a second; here the directory is read at each of those seconds,
// which a plugin cannot tell apart. What fails is tried again with growing pauses. The loop's
// thread, except where said.
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
  // Only when the loop does not run.
  void Stop() { tick_ = {}; }

 private:
  struct Registered {
    std::string resource;
    std::string endpoint;
  };
  // Tells a socket from its successor at the same path, which may have the same inode. A change of
  // mode or owner leaves it the same.
  struct Identity {
    uint64_t device = 0;
    uint64_t inode = 0;
    int64_t born_ns = 0;
    bool operator==(const Identity&) const = default;
  };
  struct Socket {
    Identity identity;
    bool busy = false;                     // an attempt is under way
    std::optional<Registered> registered;  // nothing: to be tried
    Steady next_attempt{};
    Duration pause{0};  // before the next attempt, after a failure
  };

  using Found = std::map<std::string, Identity>;
  static void ScanInto(const std::string& directory, Found& found);
  void Reconcile();
  void Attempt(const std::string& path, Socket& socket);
  void AttemptEnded(const std::string& path, const Identity& identity, Result<Registered> result);
  // On a worker.
  Result<Registered> Register(const std::string& path);

  Core& core_;
  PluginConnections& connections_;
  os::Loop::Handle tick_;
  std::map<std::string, Socket> sockets_;  // by path
};

}  // namespace tessera::kubelet::embedded
