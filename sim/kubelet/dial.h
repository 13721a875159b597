// SPDX-License-Identifier: Apache-2.0
// Connections from kubelet to a plugin's socket. They are made here and handed to gRPC when they
// stand, so that nothing is ever dialled again behind kubelet's back, and a killed kubelet can drop
// them as the kernel would. Any thread.
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

// What kubelet gives a connection for registering or for the watcher.
inline constexpr Duration kDialLimit{10'000};

// How long connecting to a plugin may take, and who may end it sooner.
struct DialLimit {
  Steady dial;                      // the connection itself
  Steady call = Steady::max();      // and everything that follows, as the caller's deadline says
  std::function<bool()> cancelled;  // asked every few milliseconds; may be empty
};

// Tries until a server answers on the socket (its HTTP/2 settings have come), as grpc-go's blocking
// dial does; the error is Go's "context deadline exceeded" or "context canceled".
Result<os::Fd> Dial(const std::string& path, const DialLimit& limit, const Cancellation& stopping);

// A channel over the connection. `authority` is what the plugin reads as the host.
std::shared_ptr<grpc::Channel> ChannelOver(os::Fd connection, const std::string& authority);

}  // namespace tessera::kubelet::embedded
