// SPDX-License-Identifier: Apache-2.0
// Unix stream sockets by path. Any thread.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "os/fd.h"

namespace tessera::os {

// The longest path of a unix socket (sun_path is 108 bytes with the NUL).
inline constexpr size_t kMaxSocketPath = 107;

// Binds and listens on a new socket of the given mode. An existing path is never replaced:
// kSocketInUse if a live process listens there, else kSocketPlanted.
Result<Fd> ListenUnix(const std::string& path, mode_t mode = 0600);

// Connects within `timeout`. kNotFound: no such path. kUnavailable: no listener.
Result<Fd> ConnectUnix(const std::string& path, Duration timeout);

// Whether a live process listens on the socket.
bool IsListening(const std::string& path);

// Removes a socket without a listener. True if the path is gone afterwards. Symbolic links and
// other files are left alone.
bool RemoveStaleSocket(const std::string& path);

}  // namespace tessera::os
