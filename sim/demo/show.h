// SPDX-License-Identifier: Apache-2.0
// The show: takes what is observed, checks the laws on it, counts it, and shows it, on a thread of
// its own, so that the view stays alive whatever the player waits for. It also takes the signals.
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
  // `interruption` is raised by SIGINT, SIGTERM, SIGHUP and SIGQUIT, and when nobody reads the
  // output any more; it outlives the show. `picture` brings what is known before anything happens.
  Show(std::unique_ptr<Output> output, Picture picture, Interruption& interruption);
  // Ends the thread.
  ~Show();

  // Any thread; shown in the order of the calls.
  void Observe(Observation observation);
  // Shows what is left, ends the thread and the output, and says how it all went.
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

  // The thread's own while it runs.
  Laws laws_;
  Tally tally_;
  Narrator narrator_;
  Picture picture_;
  os::Loop::Handle last_resort_;

  os::Loop loop_;
  std::thread thread_;
};

}  // namespace tessera::demo
