// SPDX-License-Identifier: Apache-2.0
// Keeps gRPC's callback threads. They end with the last server or channel of the process; when that
// is a channel which a callback lets go, a thread waits for itself and gRPC 1.51 aborts the process
// ("ref_counted.h: assertion failed: prior > 0").
#pragma once

#include <memory>

namespace tessera::kubelet {

// Every program that calls kubelet, or is called by it, holds one of these for as long as it does.
// Made and destroyed on any thread but gRPC's own.
class CallbackThreads {
 public:
  CallbackThreads();
  ~CallbackThreads();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tessera::kubelet
