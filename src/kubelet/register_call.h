// SPDX-License-Identifier: Apache-2.0
// One Register call to kubelet, on a worker. Every call makes a channel of its own: a kept one
// would sit in back-off for up to two minutes after kubelet was gone. One thread.
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
  // Begins to connect to kubelet.sock, which takes longer than the call. `workers` outlive this.
  RegisterCall(os::Workers& workers, const std::string& kubelet_socket);
  ~RegisterCall();

  // Once. `done` is called once, on the worker, also after a cancellation.
  void Send(const RegisterParameters& parameters, std::function<void(Status)> done);

 private:
  struct State;
  os::Workers& workers_;
  const std::shared_ptr<State> state_;  // the worker's as well
};

}  // namespace tessera::kubelet
