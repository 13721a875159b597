// SPDX-License-Identifier: Apache-2.0
// The registration of one resource at kubelet: serves, registers, and registers again whenever
// kubelet loses us. Owned by Offering. The rules (facts of Kubernetes 1.28 to 1.37):
//   - every registration has its own socket, under a name never used before;
//   - end an open stream before Register;
//   - kubelet.sock replaced, our socket wiped, or the stream ended by the peer: register again;
//   - Register accepted but no stream within `stream_timeout`: a new name, and again;
//   - retry failures with back-off, each on a new channel.
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
  kWaiting,      // kubelet is absent, or there is no list yet
  kRegistering,  // Register is in progress, or kubelet's watcher has not called yet
  kRegistered,   // accepted; no stream yet
  kStreaming,    // kubelet has a stream open
  kBackoff,      // a failure; a timer starts the next attempt
};
std::string_view PluginStateName(PluginState state);

// Called on the loop's thread.
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

  // All arguments outlive it. `workers` run Register calls and end former endpoints.
  Plugin(os::Loop& loop, os::Workers& workers, Parameters parameters,
         std::shared_ptr<PluginHandler> handler, PluginObserver& observer);
  // Ends the streams and removes the socket.
  ~Plugin();

  // Opens the endpoint and connects to kubelet. It registers with the first list.
  void Open();
  // Sets the list. The first list starts the registration.
  void Publish(ListBytes list);
  // Called after a possible change in kubelet's directories: checks kubelet.sock and our socket.
  void PollSockets();

  // Ends the stream and registers under a new name; `why` is a cause that the stream does not show.
  // The first call acts at once, further ones back off until Confirm.
  void RegisterAgain(std::string_view why);
  // kubelet has listed our devices: resets the back-off.
  void Confirm() { backoff_ = Duration(0); }
  // Changed options cause a new registration: kubelet reads them only then.
  void SetOptions(const PluginOptions& options);

  PluginState state() const { return state_; }
  RegistrationPath path() const { return parameters_.path; }
  // The current endpoint's socket; empty: there is none.
  std::string socket_path() const;

 private:
  void Begin();
  void Serve();
  void SayOnce(std::string_view event, const Error& error);
  void Register();
  // Begins again after a pause, which doubles with each successive failure from `first` to `last`.
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
  uint64_t epoch_ = 0;         // one per endpoint; late events of former ones are ignored
  os::FileInfo kubelet_;       // kubelet.sock at the last attempt to register
  std::optional<Error> said_;  // the logged cause without an endpoint: event, reason
  Steady streaming_since_{};
  int retiring_ = 0;  // former endpoints of this kubelet whose streams still end
  bool waiting_to_serve_ = false;
  Duration backoff_{0};
  std::optional<Error> failure_;  // the logged failure of the last attempts
  os::Loop::Handle timer_;        // retry or watchdog
  os::Mailbox<Plugin> mailbox_;
};

// Paths in the directories with the name of a socket of ours, alive or stale.
std::set<std::string> SocketsIn(const Directories& directories, const std::string& socket_prefix);

struct Leftovers {
  int removed = 0;
  int planted = 0;  // other file types under such names, left alone
};
// Removes sockets of earlier processes: sockets with such names on which no process listens.
Leftovers RemoveStaleSockets(const Directories& directories, const std::string& socket_prefix);

}  // namespace tessera::kubelet
