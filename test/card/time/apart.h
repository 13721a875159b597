// SPDX-License-Identifier: Apache-2.0
// A body in a process of its own, which is killed if it takes longer. False: it failed, which is a
// row of trouble. The driver must not have been called before.
#pragma once

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "card/row.h"
#include "card/time/gpu.h"

namespace tessera::card {

template <typename Body>
bool RunApart(const std::string& name, double seconds, Body body) {
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    NameTrouble(name);
    body();
    _exit(0);
  }
  const uint64_t end = Now() + static_cast<uint64_t>(seconds * 1e9);
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (Now() > end) {
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
