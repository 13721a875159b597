// SPDX-License-Identifier: Apache-2.0
// One Register call to kubelet, on a worker. Every call makes its own channel: a kept one would
// stay in back-off for up to two minutes after kubelet was gone. Owned by Plugin. One thread.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "kubelet/plugin_server.h"
#include "os/worker.h"

namespace tessera::kubelet {

struct RegisterParameters {
  std::string endpoint;  // the plugin's socket, relative to kubelet's directory
  std::string resource;
  PluginOptions options;
  Duration timeout{12'000};
};

// Cancels the call when destroyed.
class RegisterCall {
 public:
  // Starts to connect to kubelet.sock, because that takes longer than the call. `workers` outlive
  // this.
  RegisterCall(os::Workers& workers, const std::string& kubelet_socket);
  ~RegisterCall();

  // Called once. `done` is called once, on the worker, even after a cancellation.
  void Send(const RegisterParameters& parameters, std::function<void(Status)> done);

 private:
  struct State;
  os::Workers& workers_;
  const std::shared_ptr<State> state_;  // shared with the worker
};

}  // namespace tessera::kubelet
