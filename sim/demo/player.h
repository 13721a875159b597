// SPDX-License-Identifier: Apache-2.0
// Plays a scenario on a stage, step by step. One thread: the stage's.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "sim/demo/interruption.h"
#include "sim/demo/scenario.h"
#include "sim/demo/stage.h"

namespace tessera::demo {

class Player {
 public:
  struct Pace {
    double speed = 1;            // divides the times of the scenario
    bool watch_devices = false;  // asks the agent again and again for its devices
  };
  // All of these outlive the player.
  Player(const Scenario& scenario, Stage& stage, const Interruption& interruption, Pace pace)
      : scenario_(scenario), stage_(stage), interruption_(interruption), pace_(pace) {}

  // Plays all steps and compares the ledgers. Ends early if interrupted, if an agent ends by
  // itself, or if a step fails; all of these are observed.
  void Play();

 private:
  bool Begin();
  bool PlayStep(const Step& step);
  // Waits; false: the play is over.
  bool WaitUntil(Steady until);
  // The repeated checks during a wait; false: the play is over.
  bool LookAround();
  bool Do(const std::string& what, Status status);

  bool Act(const Say& say);
  bool Act(const RunPod& run);
  bool Act(const EndPod& end);
  bool Act(const EndAll& end);
  bool Act(const RestartContainer& restart);
  bool Act(const Fault& fault);
  bool Act(const ChangeHardware& change);
  bool Act(const SetCordon& cordon);
  bool Act(const MoveKubelet& move);
  bool Act(const MoveAgent& move);
  bool Act(const Reconfigure& reconfigure);
  bool Act(const Expect& expect);

  // The state that differs from the expectation; null: it is met.
  std::optional<std::string> Differs(const Expect& expect);
  std::optional<std::string> PodDiffers(const Expect& expect);
  bool IsRunning(const std::string& pod);
  // The containers and their devices in kubelet.
  std::vector<Holding> Granted();
  // Compares the agent's ledger with kubelet's grants. kubelet's checkpoint has ended pods until
  // its next write. Ledger entries from there are kubelet's, and left out.
  void CompareLedger();

  const Scenario& scenario_;
  Stage& stage_;
  const Interruption& interruption_;
  const Pace pace_;
  std::map<std::string, kubelet::Admission> tried_;  // by pod, its last admission
  Judgements judgements_;                            // as last observed
  Steady looked_{};
};

}  // namespace tessera::demo
