// SPDX-License-Identifier: Apache-2.0
// The supervisors of all resources that the configuration shares by MPS, each on its own thread.
// After another configuration, daemons that it does not change run on; those that it changes, or
// that lose a GPU to another resource, end first, and only then new ones start: two must not have
// the same GPU. One thread: the loop's.
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

  // Does not wait. While what ends by an earlier configuration has not ended, the last one waits.
  void Apply(const config::Config& config);
  // Waits, for a limited time.
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
  std::vector<std::unique_ptr<SupervisorThread>> leaving_;            // told to stop
  Orders wanted_;                // to be kept once those that leave have stopped
  std::optional<Orders> later_;  // what is wanted after that
  std::set<std::string> ready_files_;
};

}  // namespace tessera::mps
