// SPDX-License-Identifier: Apache-2.0
// One resource's life with kubelet: serve, then register; notice every way in which kubelet can
// lose us, and register again. The rules (facts of Kubernetes 1.28 to 1.37):
//   - every registration has a socket of its own, under a name never used before;
//   - never Register while a stream of ours is open: end it first;
//   - kubelet.sock replaced, our socket wiped, or the stream ended by the peer: register again;
//   - Register accepted but no stream within `stream_timeout`: a new name, and again;
//   - failures are repeated with back-off, on a fresh channel each time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "base/clock.h"
#include "kubelet/list.h"
#include "kubelet/plugin_server.h"
#include "kubelet/register_call.h"
#include "kubelet/root.h"
#include "os/loop.h"
#include "os/mailbox.h"
#include "os/worker.h"

namespace tessera::kubelet {

enum class PluginState : uint8_t {
  kWaiting,      // kubelet is not there, or there is no list yet
  kRegistering,  // Register under way, or kubelet's watcher has not come yet
  kRegistered,   // accepted; no stream yet
  kStreaming,    // kubelet listens
  kBackoff,      // something failed; the next attempt is timed
};
std::string_view PluginStateName(PluginState state);

// Told on the loop's thread.
class PluginObserver {
 public:
  virtual ~PluginObserver() = default;
  virtual void StateChanged(const std::string& resource, PluginState state) = 0;
  virtual void Registered(const std::string& resource, const Status& status) = 0;
  virtual void StreamsChanged(const std::string& resource, int streams) = 0;
  virtual void ListSent(const std::string& resource, size_t bytes) = 0;
};

// One thread: the loop's.
class Plugin {
 public:
  struct Parameters {
    std::string resource;
    RegistrationPath path = RegistrationPath::kKubeletSocket;
    Directories directories;
    std::string socket_prefix = "tessera";
    PluginOptions options;
    Duration register_timeout{12'000};
    Duration stream_timeout{10'000};
  };

  // Everything given must outlive it; `workers` registers, and ends endpoints
  // that are no longer used.
  Plugin(os::Loop& loop, os::Workers& workers, Parameters parameters,
         std::shared_ptr<PluginHandler> handler, PluginObserver& observer);
  // Ends the streams and removes the socket.
  ~Plugin();

  // Serves, and reaches out for kubelet: once there is a list, that is one call.
  void Open();
  // The list from now on. The first one is what kubelet is told of us for.
  void Publish(ListBytes list);
  // Something may have changed in kubelet's directories: looks at kubelet.sock and at our socket.
  void PollSockets();

  // Ends the stream and registers under a new name, because of something the stream does not show:
  // at once the first time, with back-off until Confirm.
  void RegisterAgain(std::string_view why);
  // kubelet was seen to know our devices.
  void Confirm() { backoff_ = Duration(0); }
  // kubelet reads options only at registration, so others mean a new one.
  void SetOptions(const PluginOptions& options);

  PluginState state() const { return state_; }
  RegistrationPath path() const { return parameters_.path; }
  // Of the endpoint that is in use; empty while there is none.
  std::string socket_path() const;

 private:
  void Begin();
  void Serve();
  void SayOnce(std::string_view event, const Error& error);
  void Register();
  // After a pause that doubles with every failure in a row, from `first` to `last`.
  void Retry(Duration first, Duration last);
  void Retire();
  bool SameKubelet() const;
  void EnterRegistered();
  void Enter(PluginState state);
  void OnRegistered(uint64_t epoch, Status status);
  void OnStreamOpened(uint64_t epoch);
  void OnStreamEnded(uint64_t epoch, bool by_peer);
  PluginServerEvents EventsOf(uint64_t epoch);

  os::Loop& loop_;
  os::Workers& workers_;
  Parameters parameters_;
  const std::shared_ptr<PluginHandler> handler_;
  PluginObserver& observer_;

  PluginState state_ = PluginState::kWaiting;
  ListBytes list_;
  std::unique_ptr<PluginServer> server_;
  std::unique_ptr<RegisterCall> call_;
  uint64_t epoch_ = 0;         // one an endpoint; events of former ones are ignored
  os::FileInfo kubelet_;       // kubelet.sock as it was when we last tried to register
  std::optional<Error> said_;  // why there is no endpoint, as the log last said: event and reason
  Steady streaming_since_{};
  int retiring_ = 0;  // former endpoints of this kubelet that still end their streams
  bool waiting_to_serve_ = false;
  Duration backoff_{0};
  std::optional<Error> failure_;  // of the last attempts, once logged
  os::Loop::Handle timer_;        // retry or watchdog
  os::Mailbox<Plugin> mailbox_;
};

// Paths of the sockets of our naming in the directories, alive or not.
std::set<std::string> SocketsIn(const Directories& directories, const std::string& socket_prefix);

struct Leftovers {
  int removed = 0;
  int planted = 0;  // no sockets at all, left alone
};
// Removes sockets of earlier processes from the directories: those of our naming on which nobody
// listens.
Leftovers RemoveStaleSockets(const Directories& directories, const std::string& socket_prefix);

}  // namespace tessera::kubelet
