// SPDX-License-Identifier: Apache-2.0
// One Register call to kubelet. Every call makes a channel of its own: a kept one would sit in
// back-off for up to two minutes after kubelet was gone. One thread.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "kubelet/plugin_server.h"

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
  // Begins to connect to kubelet.sock, which takes longer than the call.
  explicit RegisterCall(const std::string& kubelet_socket);
  ~RegisterCall();

  // Once. `done` is called once, on one of gRPC's threads, also after a cancellation.
  void Send(const RegisterParameters& parameters, std::function<void(Status)> done);

 private:
  struct State;
  const std::shared_ptr<State> state_;
};

}  // namespace tessera::kubelet
