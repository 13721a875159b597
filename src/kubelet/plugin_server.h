// SPDX-License-Identifier: Apache-2.0
// One device plugin endpoint: its own unix socket with the DevicePlugin service and, for the plugin
// watcher, the pluginregistration service. Each registration needs a new endpoint, because kubelet
// does not support the reuse of a socket path. The former endpoint is destroyed. Owned by Plugin.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "grant/grant.h"
#include "kubelet/list.h"

namespace tessera::kubelet {

// The answer to GetDevicePluginOptions.
struct PluginOptions {
  bool pre_start_required = false;
  bool preferred_allocation_available = true;
  bool operator==(const PluginOptions&) const = default;
};

// Answers kubelet's calls. Called on the endpoints' threads. Two may call at a time: the ending
// endpoint and the next. Must not block.
class PluginHandler {
 public:
  virtual ~PluginHandler() = default;
  // Calls `done` once, on any thread, within the call or later. The endpoint's end waits for it.
  // The pod's owner reads the error's Text().
  virtual void Allocate(const std::vector<std::string>& ids,
                        std::function<void(Result<Grant>)> done) = 0;
  virtual std::vector<std::string> Prefer(const std::vector<std::string>& available,
                                          const std::vector<std::string>& must_include,
                                          int size) = 0;
  // Calls `done` once, on any thread. After 25 s, shortly before kubelet stops waiting, the call
  // fails with kResetTimedOut. `wanted` is false from then on, and a later answer is dropped. Any
  // thread may call `wanted`.
  virtual void PreStart(const std::vector<std::string>& ids, std::function<bool()> wanted,
                        std::function<void(Status)> done) = 0;
};

// Events of an endpoint. Called on its threads.
struct PluginServerEvents {
  std::function<void()> stream_opened;
  std::function<void(bool by_peer)> stream_ended;  // by_peer: not caused by Close
  std::function<void(size_t bytes)> list_sent;
  std::function<void(Status)> watcher_notified;  // plugin watcher only: kubelet's verdict
};

class PluginServer {
 public:
  struct Parameters {
    std::string socket_path;
    PluginOptions options;
    // The resource's name, to serve the plugin watcher too; empty: does not.
    std::string watcher_name;
  };

  // Serves at once. `list`: the first list of a stream; null: streams wait for Publish.
  static Result<std::unique_ptr<PluginServer>> Start(const Parameters& parameters,
                                                     const std::shared_ptr<PluginHandler>& handler,
                                                     ListBytes list,
                                                     const PluginServerEvents& events);

  // Ends open calls, which may take half a second. Removes the socket if the path is still this
  // endpoint's. Any thread.
  ~PluginServer();

  // Sends the list to every stream. A stream that is still sending gets only the newest list next.
  // Any thread.
  void Publish(ListBytes list);
  // Removes the socket, so that no client can connect, and ends the streams. Does not wait. Only
  // one thread at a time.
  void Close();
  int streams() const;  // any thread
  // True if the path is still this endpoint's socket. Any thread.
  bool SocketStands() const;
  const std::string& socket_path() const;

 private:
  struct Impl;
  explicit PluginServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tessera::kubelet
