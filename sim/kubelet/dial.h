// SPDX-License-Identifier: Apache-2.0
// Connections from kubelet to a plugin's socket. They are made here and handed to gRPC when they
// are established. So gRPC never dials again by itself, and a killed kubelet can drop them as the
// kernel would. Any thread.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "os/fd.h"
#include "sim/kubelet/cancellation.h"

namespace grpc {
class Channel;
}

namespace tessera::kubelet::embedded {

// kubelet's time limit of a connection, for registration and for the watcher.
inline constexpr Duration kDialLimit{10'000};

// The limits of a connection to a plugin.
struct DialLimit {
  Steady dial;                      // for the connection
  Steady call = Steady::max();      // for all that follows: the deadline of the caller
  std::function<bool()> cancelled;  // ends it early; called every few milliseconds; may be empty
};

// Tries until a server answers on the socket with its HTTP/2 settings, as grpc-go's blocking dial
// does. The error is Go's "context deadline exceeded" or "context canceled".
Result<os::Fd> Dial(const std::string& path, const DialLimit& limit, const Cancellation& stopping);

// A channel over the connection. The plugin reads `authority` as the host.
std::shared_ptr<grpc::Channel> ChannelOver(os::Fd connection, const std::string& authority);

}  // namespace tessera::kubelet::embedded
