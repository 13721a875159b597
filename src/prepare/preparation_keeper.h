// SPDX-License-Identifier: Apache-2.0
// Has what is prepared for grants looked after in time: containers that wait for too long are
// refused, what kubelet has forgotten is undone, and the node is told what follows for its devices.
// Owned by the agent. One thread: the loop's.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "kubelet/root.h"
#include "os/alarm.h"
#include "os/files.h"
#include "os/loop.h"
#include "os/mailbox.h"
#include "os/worker.h"
#include "prepare/preparations.h"

namespace tessera {

class PreparationKeeper {
 public:
  struct Surroundings {
    os::Loop& loop;
    os::Workers& workers;
    std::string state_dir;
    os::Root root;
    // What follows for devices and resources, all of it, has changed.
    std::function<void(const Preparations::Standing& standing)> changed;
  };
  explicit PreparationKeeper(Surroundings at);

  // Prepares for this kubelet from now on; what earlier agents left is known.
  void Open(const kubelet::Directories& directories);
  const std::shared_ptr<Preparations>& preparations() const { return preparations_; }
  // Kubelet's checkpoint may be another by now.
  void RemoveForgotten();
  // What only a person mends.
  const std::vector<Error>& faults() const { return standing_.faults; }

 private:
  void RefreshStanding();

  const Surroundings at_;
  bool opened_ = false;
  Preparations::Standing standing_;  // as it was last told
  os::Alarm next_;
  os::Mailbox<PreparationKeeper> mailbox_;
  std::shared_ptr<Preparations> preparations_;
};

}  // namespace tessera
