// SPDX-License-Identifier: Apache-2.0
// One device plugin endpoint: a unix socket of its own, the DevicePlugin service on it, and, for
// the plugin watcher, the pluginregistration service beside it. A new registration is a new
// endpoint: the old one is ended and destroyed, never used again (kubelet does not support the
// reuse of a socket path).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "grant/grant.h"
#include "kubelet/list.h"

namespace tessera::kubelet {

// What GetDevicePluginOptions answers.
struct PluginOptions {
  bool pre_start_required = false;
  bool preferred_allocation_available = true;
  bool operator==(const PluginOptions&) const = default;
};

// Answers kubelet's calls. Called on the threads of its endpoints, of which there may be two for a
// while: one that ends, and the next. Must not block.
class PluginHandler {
 public:
  virtual ~PluginHandler() = default;
  // `done` is called once, from any thread: within the call, or later, which the endpoint's end
  // waits for. The error's Text() is what the pod's owner reads.
  virtual void Allocate(const std::vector<std::string>& ids,
                        std::function<void(Result<Grant>)> done) = 0;
  virtual std::vector<std::string> Prefer(const std::vector<std::string>& available,
                                          const std::vector<std::string>& must_include,
                                          int size) = 0;
  // `done` is called once, from any thread; after 25 s, shortly before kubelet stops waiting, the
  // call fails with kResetTimedOut and a later answer is dropped: from then on it is not `wanted`,
  // which any thread may ask.
  virtual void PreStart(const std::vector<std::string>& ids, std::function<bool()> wanted,
                        std::function<void(Status)> done) = 0;
};

// What happens on an endpoint. Called on its thread.
struct PluginServerEvents {
  std::function<void()> stream_opened;
  std::function<void(bool by_peer)> stream_ended;  // by_peer: not because of EndStreams
  std::function<void(size_t bytes)> list_sent;
  std::function<void(Status)> watcher_notified;  // plugin watcher only: kubelet's verdict
};

class PluginServer {
 public:
  struct Parameters {
    std::string socket_path;
    PluginOptions options;
    // The resource's name makes the endpoint answer the plugin watcher too; empty: it does not.
    std::string watcher_name;
  };

  // Serves at once: `list` is what a stream gets first; null: it waits for the first.
  static Result<std::unique_ptr<PluginServer>> Start(const Parameters& parameters,
                                                     const std::shared_ptr<PluginHandler>& handler,
                                                     ListBytes list,
                                                     const PluginServerEvents& events);

  // Ends what is still open, which may take half a second, and removes the socket if it is still
  // this one. Any thread.
  ~PluginServer();

  // Newest list wins; a stream that is busy sending gets only the newest afterwards. Any thread.
  void Publish(ListBytes list);
  // Removes the socket, so that nobody new comes, and ends the streams from this side. Does not
  // wait. Any one thread.
  void Close();
  int streams() const;  // any thread
  // Whether the path still leads to this endpoint's socket. Any thread.
  bool SocketStands() const;
  const std::string& socket_path() const;

 private:
  struct Impl;
  explicit PluginServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tessera::kubelet
