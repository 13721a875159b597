// SPDX-License-Identifier: Apache-2.0
// Keeps the MPS control daemon of one resource alive:
//
//   down --start, sizes--> ready --no answer--> silent --too often--> (killed) down
//                                               silent: Also while it cannot be reached, and stays
//                            ^  \--it ended--> down       \--an answer--> ready
//                            \--adopted: It runs already, answers, and has the same sizes
//
// If GPUs answer late or are plugged later, a new start takes them in while the daemon has no
// client. Restarts pause for growing times. Each state is published to the agent at once. One
// thread at a time.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "backend/nvidia/mps/status.h"
#include "base/backoff.h"
#include "base/clock.h"
#include "mps/control.h"

namespace tessera::mps {

class Supervisor {
 public:
  struct Times {
    Duration interval{5'000};  // between commands
    Duration timeout{2'000};   // of one command
    int failures = 3;          // in a row, until it counts as hung
    bool operator==(const Times&) const = default;
  };

  Supervisor(std::string resource, const Clock& clock, MpsControl& control, Times times);

  // Does the due work. Returns the time until the next step is due.
  Duration Step();
  bool ready() const { return status_.state == nvidia::MpsState::kReady; }
  // Ends the daemon, also one of an earlier process before the first step. Restores the GPUs'
  // compute mode and removes the daemon's files.
  void End();

 private:
  Duration StartSupervision();
  void TellOfUnread(const Sizes& sizes);
  std::optional<nvidia::MpsStatus> FormerStatus();
  bool Adopt(const Sizes& sizes);
  Status Launch(Sizes& sizes);
  Duration Watch();
  bool TakesIn();
  bool HasClients();
  Duration StartAnew();
  void Quit();
  bool RestoreSockets();
  Status CheckSockets();
  Duration DaemonSilent(const Error& error);
  Duration DaemonDown(const std::string& why);
  Duration Failed(const Error& error);
  Status Ask();
  void Serve(const Sizes& sizes, pid_t daemon);
  void DaemonAnswered();
  void PublishStatus();

  const std::string resource_;
  const Clock& clock_;
  MpsControl& control_;
  const Times times_;
  Backoff backoff_;
  nvidia::MpsStatus status_;
  std::set<std::string> exclusive_;         // GPUs whose mode was set
  std::map<unsigned, std::string> unread_;  // GPUs that were logged as unread
  bool begun_ = false;                      // an earlier daemon was adopted or ended
  std::string told_;                        // the failure that was last logged
  std::set<std::string> late_;              // GPUs that the daemon was started without
  Steady look_{};                           // when missing GPUs are read next
  int unanswered_ = 0;                      // in a row
  Steady since_{};                          // when the daemon became ready
  Steady ask_{};                            // when the next command is due
};

}  // namespace tessera::mps
