// SPDX-License-Identifier: Apache-2.0
// Unix stream sockets by path. Any thread.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "os/fd.h"

namespace tessera::os {

// The longest path a unix socket can have (sun_path is 108 bytes with its end).
inline constexpr size_t kMaxSocketPath = 107;

// Binds and listens on a new socket of the given mode. Nothing is replaced: a path that exists is
// kSocketInUse when a live process listens there, kSocketPlanted when it is anything else.
Result<Fd> ListenUnix(const std::string& path, mode_t mode = 0600);

// Connects, waiting at most `timeout`. kNotFound: no such path; kUnavailable: nobody listens.
Result<Fd> ConnectUnix(const std::string& path, Duration timeout);

// Whether a live process listens on the socket.
bool IsListening(const std::string& path);

// Removes `path` when it is a socket nobody listens on; true when it is gone afterwards. Symbolic
// links and other files are left alone.
bool RemoveStaleSocket(const std::string& path);

}  // namespace tessera::os
