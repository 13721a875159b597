// SPDX-License-Identifier: Apache-2.0
// The show takes observations, checks the laws on them, counts them, and displays them. It has a
// thread of its own, so that the view stays alive while the player waits. It also handles the
// signals.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "os/loop.h"
#include "sim/demo/demo.h"
#include "sim/demo/interruption.h"
#include "sim/demo/laws.h"
#include "sim/demo/observation.h"
#include "sim/demo/output.h"
#include "sim/demo/tally.h"

namespace tessera::demo {

class Show {
 public:
  // SIGINT, SIGTERM, SIGHUP, SIGQUIT and a closed output raise `interruption`, which outlives the
  // show. `picture` has the facts before the first observation.
  Show(std::unique_ptr<Output> output, Picture picture, Interruption& interruption);
  // Ends the thread.
  ~Show();

  // Any thread; shown in the order of the calls.
  void Observe(Observation observation);
  // Shows the rest, ends the thread and the output, and returns the summary.
  Summary Finish(Duration took);

 private:
  void Run();
  void Take(const Observation& observation);
  void Happened(const Event& event);
  void Draw();
  void Interrupt(int signal);
  std::vector<os::Loop::Handle> CatchSignals();

  std::unique_ptr<Output> output_;
  Interruption& interruption_;
  const Steady began_;

  // The members below are the thread's own while it runs.
  Laws laws_;
  Tally tally_;
  Narrator narrator_;
  Picture picture_;
  os::Loop::Handle last_resort_;

  os::Loop loop_;
  std::thread thread_;
};

}  // namespace tessera::demo
