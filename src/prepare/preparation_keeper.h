// SPDX-License-Identifier: Apache-2.0
// Drives Preparations from the agent's loop: refuses containers that wait too long, undoes
// preparations that kubelet has forgotten, and reports the consequences for devices. Owned by the
// agent. One thread: the loop's.
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
    // The standing has changed; `standing` is the whole of it.
    std::function<void(const Preparations::Standing& standing)> changed;
  };
  explicit PreparationKeeper(Surroundings at);

  // Uses this kubelet's checkpoint from now on. The first call loads the journal of earlier agents.
  void Open(const kubelet::Directories& directories);
  const std::shared_ptr<Preparations>& preparations() const { return preparations_; }
  // kubelet's checkpoint may have changed: undoes forgotten preparations on a worker.
  void RemoveForgotten();
  // Faults that only a person can fix.
  const std::vector<Error>& faults() const { return standing_.faults; }

 private:
  void RefreshStanding();

  const Surroundings at_;
  bool opened_ = false;
  Preparations::Standing standing_;  // as last reported
  os::Alarm next_;
  os::Mailbox<PreparationKeeper> mailbox_;
  std::shared_ptr<Preparations> preparations_;
};

}  // namespace tessera
