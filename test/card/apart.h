// SPDX-License-Identifier: Apache-2.0
// Runs a part of a probe in a process of its own, so that a crash or a hang costs only that part.
// The driver must not have been called before. One thread.
#pragma once

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <string>

#include "card/row.h"

namespace tessera::card {

// Kills the process if it takes longer. False: it failed. A hang and a signal are rows of trouble
// under `name`; the body reports what else fails.
template <typename Body>
bool RunApart(const std::string& name, double seconds, Body body) {
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    body();
    _exit(0);
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > end) {
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      Trouble(name, "no end in " + std::to_string(static_cast<int>(seconds)) + " s");
      return false;
    }
    usleep(1000);
  }
  if (WIFSIGNALED(status)) Trouble(name, "signal " + std::to_string(WTERMSIG(status)));
  return status == 0;
}

}  // namespace tessera::card
