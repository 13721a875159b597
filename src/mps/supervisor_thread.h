// SPDX-License-Identifier: Apache-2.0
// A resource's supervisor on a thread of its own, so that a hang there delays no other resource.
// One thread calls it; `changed` runs on its own thread.
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
    NvidiaConfig gpus;  // the part that concerns the daemon
    std::string root_prefix;
    Supervisor::Times times;

    std::string Directory() const;
    bool operator==(const Order&) const = default;
  };

  // `changed`: the daemon became ready, is no longer ready, or its supervisor stopped. Called on
  // the supervisor's thread.
  SupervisorThread(Order order, std::function<void()> changed);
  // Leaves the daemon running.
  ~SupervisorThread();
  SupervisorThread(const SupervisorThread&) = delete;
  SupervisorThread& operator=(const SupervisorThread&) = delete;

  enum class Daemon : bool { kStays, kEnds };
  // Asks the supervisor to stop. Does not wait.
  void Stop(Daemon daemon);
  // Asks the supervisor to stop, so that one with the order `next` can take its place. The daemon
  // stays if `next` needs the same one: same directory, GPUs and sizes.
  void StopFor(Order next);
  bool stopped() const;
  // False if it has not stopped by then; it goes on stopping by itself.
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
