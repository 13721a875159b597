// SPDX-License-Identifier: Apache-2.0
// Keeps the MPS control daemon of one resource alive:
//
//   down --start, sizes--> ready --no answer--> silent --too often--> (killed) down
//                                               silent: also while it cannot be reached, and stays
//                            ^  \--it ended--> down       \--an answer--> ready
//                            \--adopted: it runs already, answers, and was told the same sizes
//
// GPUs that it was started without, as they did not answer or came later, are taken in by a new
// start while it has no client. A daemon that was started is started again with growing pauses, and
// each state is said to the agent at once. One thread at a time.
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
    Duration interval{5'000};  // between questions
    Duration timeout{2'000};   // of one question
    int failures = 3;          // in a row, after which it counts as hung
    bool operator==(const Times&) const = default;
  };

  Supervisor(std::string resource, const Clock& clock, MpsControl& control, Times times);

  // Does what is due. Returns after how long there is more to do.
  Duration Step();
  bool ready() const { return status_.state == nvidia::MpsState::kReady; }
  // Ends the daemon, or before the first step that which an earlier one has left, and takes back
  // what was done for it.
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
  void RestoreSockets();
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
  std::set<std::string> exclusive_;         // GPUs that were made so
  std::map<unsigned, std::string> unread_;  // GPUs that were told of as such
  bool begun_ = false;                      // what ran before was looked at
  std::string told_;                        // the failure that was logged last
  std::set<std::string> late_;              // GPUs that the daemon was started without
  Steady look_{};                           // when GPUs that are left out are looked at next
  int unanswered_ = 0;                      // in a row
  Steady since_{};                          // when the daemon became ready
  Steady ask_{};                            // when it is asked next
};

}  // namespace tessera::mps
