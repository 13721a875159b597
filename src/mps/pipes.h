// SPDX-License-Identifier: Apache-2.0
// The directory in which the MPS daemon of a resource has its sockets, "pipe", which containers
// have mounted, and beside it "kept", which they have not: hard links to what the daemon has made
// in the first. A socket is reached by any link to it, so one that somebody has removed or replaced
// is put back while the daemon and its clients go on. One thread at a time.
#pragma once

#include <string>

#include "base/result.h"

namespace tessera::mps {

class Pipes {
 public:
  // Below `directory`, which nobody but root may write.
  explicit Pipes(const std::string& directory);

  const std::string& path() const { return pipe_; }
  // Makes it, or empties it: it stays the directory that containers have mounted. A link in it is
  // removed, and not followed.
  Status Clear() const;
  // What is in it now is the daemon's own.
  Status KeepSockets() const;
  // Puts back what is the daemon's and was removed or replaced; whether there was any.
  // kUnavailable: the daemon's socket is not there, and was not kept.
  Result<bool> RestoreSockets() const;
  // Whether somebody takes a connection at the daemon's socket.
  bool Accepts() const;
  // Forgets what was kept.
  Status Forget() const;

 private:
  const std::string pipe_;
  const std::string kept_;
};

}  // namespace tessera::mps
