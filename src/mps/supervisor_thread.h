// SPDX-License-Identifier: Apache-2.0
// A resource's supervisor on a thread of its own: what hangs there costs no other resource. One
// thread, but for `changed`.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "backend/nvidia/core/nvidia_config.h"
#include "base/clock.h"
#include "mps/supervisor.h"

namespace tessera::mps {

class SupervisorThread {
 public:
  struct Order {
    std::string resource;
    int replicas = 1;
    NvidiaConfig gpus;  // as far as it concerns the daemon
    std::string root_prefix;
    Supervisor::Times times;

    std::string Directory() const;
    bool operator==(const Order&) const = default;
  };

  // `changed`: it became ready, or is so no more, or has stopped; called on that thread.
  SupervisorThread(Order order, std::function<void()> changed);
  // Leaves the daemon running.
  ~SupervisorThread();
  SupervisorThread(const SupervisorThread&) = delete;
  SupervisorThread& operator=(const SupervisorThread&) = delete;

  enum class Daemon : bool { kStays, kEnds };
  // Asks it to stop, and does not wait.
  void Stop(Daemon daemon);
  // Likewise, so that one with this order can take its place once it has stopped. The daemon
  // stays where that one is to have the same: in the same directory, with the same GPUs and sizes.
  void StopFor(Order next);
  bool stopped() const;
  // False when it has not stopped by then; it goes on doing so by itself.
  bool AwaitStopped(Duration limit);

  const Order& order() const { return order_; }
  bool ready() const;

 private:
  struct State;  // shared with the thread
  static void Run(const std::shared_ptr<State>& state, const Order& order,
                  const std::function<void()>& changed);

  const Order order_;
  const std::shared_ptr<State> state_;
};

}  // namespace tessera::mps
