// SPDX-License-Identifier: Apache-2.0
// What can be done with the MPS daemon of one resource, and known of it: the seam between the
// supervisor and the machine. One thread at a time.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "backend/nvidia/mps/status.h"
#include "base/result.h"
#include "mps/sizes.h"

namespace tessera::mps {

class MpsControl {
 public:
  virtual ~MpsControl() = default;

  // The GPUs as they are now, and what clients may take of them.
  virtual Result<Sizes> ReadSizes() = 0;
  // What an earlier process has said last.
  virtual Result<nvidia::MpsStatus> ReadStatus() = 0;
  // Says this to the agent.
  virtual void WriteStatus(const nvidia::MpsStatus& status) = 0;
  virtual std::string Boot() = 0;

  // The resource's daemon, whoever started it; nothing when none runs.
  virtual std::optional<pid_t> Find() = 0;
  virtual bool IsAlive(pid_t daemon) = 0;
  // Lets no process use the GPU but through the daemon; or any again.
  virtual Status SetExclusive(const std::string& gpu, bool exclusive) = 0;
  // Makes its directories, empties that of its sockets, and starts it.
  virtual Result<pid_t> Start(const Sizes& sizes) = 0;
  // One command, within the time limit.
  virtual Result<std::string> Ask(const std::string& command) = 0;
  // What the daemon has in the directory of its sockets now is put back when somebody removes it.
  virtual Status KeepSockets() = 0;
  // Does so; whether there was anything to put back. Fails where clients cannot reach it by then.
  virtual Result<bool> RestoreSockets() = 0;
  // Whether it takes a connection.
  virtual bool Accepts() = 0;
  // Ends whatever runs of the daemon: its servers as well, which hold the GPUs.
  virtual void Kill() = 0;
  // Waits for its end after "quit", for some seconds.
  virtual bool AwaitEnd(pid_t daemon) = 0;
  // Removes what Start and Say have made, but for what clients have mounted.
  virtual void CleanUp() = 0;
};

}  // namespace tessera::mps
