// SPDX-License-Identifier: Apache-2.0
// The sockets of a resource's MPS daemon. The directory "pipe" has them; containers mount it. The
// directory "kept" has hard links to them; containers do not see it. Any link reaches a socket. So
// a removed or replaced socket is put back while the daemon and its clients go on. One thread at a
// time.
#pragma once

#include <string>

#include "base/result.h"

namespace tessera::mps {

class Pipes {
 public:
  // `directory`: only root may write in it.
  explicit Pipes(const std::string& directory);

  const std::string& path() const { return pipe_; }
  // Makes the directory, or empties it. It stays the same directory, as containers have it mounted.
  // A link in it is removed, not followed.
  Status Clear() const;
  // Records the present entries as the daemon's own.
  Status KeepSockets() const;
  // Puts the daemon's removed or replaced entries back. True if there were any. kUnavailable: the
  // daemon's socket is missing and was not kept.
  Result<bool> RestoreSockets() const;
  // Whether the daemon's socket accepts a connection.
  bool Accepts() const;
  // Removes the kept links.
  Status Forget() const;

 private:
  const std::string pipe_;
  const std::string kept_;
};

}  // namespace tessera::mps
