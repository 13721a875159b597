// SPDX-License-Identifier: Apache-2.0
// One Register call to kubelet, on a worker. Every call makes a channel of its own: a kept one
// would sit in back-off for up to two minutes after kubelet was gone. Any thread.
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
  std::string kubelet_socket;  // path of kubelet.sock
  std::string endpoint;        // the plugin's socket, relative to kubelet's directory
  std::string resource;
  PluginOptions options;
  Duration timeout{12'000};
};

// Cancels the call when destroyed.
class RegisterCall {
 public:
  // `done` is called once, on the worker, also after a cancellation.
  static std::unique_ptr<RegisterCall> Start(os::Workers& workers,
                                             const RegisterParameters& parameters,
                                             std::function<void(Status)> done);
  ~RegisterCall();

 private:
  struct State;
  explicit RegisterCall(std::shared_ptr<State> state) : state_(std::move(state)) {}
  const std::shared_ptr<State> state_;  // the worker's as well
};

}  // namespace tessera::kubelet
