// SPDX-License-Identifier: Apache-2.0
// The supervisor's interface to the MPS daemon of one resource. LocalControl is the machine's;
// tests have a fake. One thread at a time.
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

  // The GPUs as they are now, and the sizes that a client may take of them.
  virtual Result<Sizes> ReadSizes() = 0;
  // The status that was last written, by this process or an earlier one.
  virtual Result<nvidia::MpsStatus> ReadStatus() = 0;
  // Publishes the status to the agent.
  virtual void WriteStatus(const nvidia::MpsStatus& status) = 0;
  virtual std::string Boot() = 0;

  // The resource's daemon, also one that an earlier process started. Null: none runs.
  virtual std::optional<pid_t> Find() = 0;
  virtual bool IsAlive(pid_t daemon) = 0;
  // Sets the GPU's compute mode: exclusive, so that processes use it only through the daemon, or
  // default.
  virtual Status SetExclusive(const std::string& gpu, bool exclusive) = 0;
  // Makes the daemon's directories, empties that of its sockets, and starts the daemon.
  virtual Result<pid_t> Start(const Sizes& sizes) = 0;
  // Sends one command, within the time limit.
  virtual Result<std::string> Ask(const std::string& command) = 0;
  // Keeps links to the daemon's present sockets, for RestoreSockets.
  virtual Status KeepSockets() = 0;
  // Puts removed or replaced sockets back. True if there were any. Fails if clients still cannot
  // reach the daemon.
  virtual Result<bool> RestoreSockets() = 0;
  // Whether the daemon accepts a connection.
  virtual bool Accepts() = 0;
  // Kills the daemon and its servers, which hold the GPUs.
  virtual void Kill() = 0;
  // Waits some seconds for the daemon's end after "quit".
  virtual bool AwaitEnd(pid_t daemon) = 0;
  // Removes what Start and WriteStatus have made. The directory that clients have mounted stays.
  virtual void CleanUp() = 0;
};

}  // namespace tessera::mps
