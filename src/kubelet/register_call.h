// SPDX-License-Identifier: Apache-2.0
// One Register call to kubelet. Every call makes a channel of its own: a kept one would sit in
// back-off for up to two minutes after kubelet was gone. Any thread.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "kubelet/plugin_server.h"

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
  // `done` is called once, on one of gRPC's threads, also after a cancellation.
  static std::unique_ptr<RegisterCall> Start(const RegisterParameters& parameters,
                                             std::function<void(Status)> done);
  ~RegisterCall();

 private:
  struct State;
  explicit RegisterCall(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;
};

}  // namespace tessera::kubelet
