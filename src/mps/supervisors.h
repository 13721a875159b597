// SPDX-License-Identifier: Apache-2.0
// The supervisors of all MPS resources of the configuration, each on its own thread. With a new
// configuration, unchanged daemons run on. Daemons that it changes, or that lose a GPU to another
// resource, end first. New ones start after that, as two daemons must not have the same GPU. One
// thread: the loop's.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "config/schema/config.h"
#include "mps/supervisor_thread.h"
#include "os/loop.h"

namespace tessera::mps {

class Supervisors {
 public:
  explicit Supervisors(os::Loop& loop) : loop_(loop) {}

  // Does not wait. While daemons of an earlier configuration are still ending, the newest
  // configuration waits.
  void Apply(const config::Config& config);
  // Waits for a limited time.
  void Stop(SupervisorThread::Daemon daemon);

 private:
  using Orders = std::map<std::string, SupervisorThread::Order>;  // by resource

  static Orders OrdersOf(const config::Config& config);
  void Begin(Orders wanted);
  void Changed();
  void StartWanted();
  void MarkReady();

  os::Loop& loop_;
  std::map<std::string, std::unique_ptr<SupervisorThread>> threads_;  // by resource
  std::vector<std::unique_ptr<SupervisorThread>> leaving_;            // asked to stop
  Orders wanted_;                // kept once `leaving_` have stopped
  std::optional<Orders> later_;  // the orders after those
  std::set<std::string> ready_files_;
};

}  // namespace tessera::mps
