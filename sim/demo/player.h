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
    double speed = 1;            // the scenario's times are divided by it
    bool watch_devices = false;  // ask the agent again and again what it thinks of them
  };
  // All of these outlive the player.
  Player(const Scenario& scenario, Stage& stage, const Interruption& interruption, Pace pace)
      : scenario_(scenario), stage_(stage), interruption_(interruption), pace_(pace) {}

  // Plays all of it and compares the ledgers. Ends early when interrupted, when an agent ends by
  // itself, or when a step cannot be done; all of that is observed.
  void Play();

 private:
  bool Begin();
  bool PlayStep(const Step& step);
  // Waits; false when the play is over.
  bool WaitUntil(Steady until);
  // What is done again and again while waiting; false when the play is over.
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

  // What is true instead; nothing when it is as expected.
  std::optional<std::string> Differs(const Expect& expect);
  std::optional<std::string> PodDiffers(const Expect& expect);
  bool IsRunning(const std::string& pod);
  // The containers and what they hold, as kubelet knows it.
  std::vector<Holding> Granted();
  // The agent's ledger. Ended pods stand in kubelet's checkpoint until it writes the next one; what
  // the ledger has from there is kubelet's word, and left out.
  void CompareLedger();

  const Scenario& scenario_;
  Stage& stage_;
  const Interruption& interruption_;
  const Pace pace_;
  std::map<std::string, kubelet::Admission> tried_;  // by pod, the last time
  Judgements judgements_;                            // as last observed
  Steady looked_{};
};

}  // namespace tessera::demo
