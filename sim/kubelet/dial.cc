// SPDX-License-Identifier: Apache-2.0
#include "sim/kubelet/dial.h"

#include <grpcpp/create_channel_posix.h>
#include <grpcpp/grpcpp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>

#include "os/unix_socket.h"
#include "sim/kubelet/callback_threads.h"

namespace tessera::kubelet::embedded {
namespace {

constexpr Duration kRetry{20};
constexpr int kMaxReceive = 4 * 1024 * 1024;  // grpc-go's default; kubelet does not change it

enum class Wait : uint8_t { kReady, kHungUp, kNotYet };

// Whether the server has sent the first bytes of its HTTP/2 preface.
Wait AwaitServer(const os::Fd& connection, Duration timeout) {
  pollfd p{.fd = connection.get(), .events = POLLIN, .revents = 0};
  if (poll(&p, 1, static_cast<int>(timeout.count())) <= 0) return Wait::kNotYet;
  char byte = 0;
  return recv(connection.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 1 ? Wait::kReady
                                                                        : Wait::kHungUp;
}

}  // namespace

Result<os::Fd> Dial(const std::string& path, const DialLimit& limit, const Cancellation& stopping) {
  auto cancelled = [&] { return stopping.cancelled() || (limit.cancelled && limit.cancelled()); };
  auto left = [deadline = std::min(limit.dial, limit.call)] {
    return std::max(deadline - SystemClock().Now(), Duration(0));
  };
  while (!cancelled()) {
    if (left() == Duration(0)) return Fail(Reason::kTimedOut, "context deadline exceeded");
    auto connection = os::ConnectUnix(path, std::min(left(), kRetry));
    Wait state = connection ? Wait::kNotYet : Wait::kHungUp;
    while (state == Wait::kNotYet && left() > Duration(0) && !cancelled()) {
      state = AwaitServer(*connection, std::min(left(), kRetry));
    }
    if (state == Wait::kReady) return *std::move(connection);
    stopping.WaitFor(std::min(left(), kRetry));
  }
  return Fail(Reason::kUnavailable, "context canceled");
}

std::shared_ptr<grpc::Channel> ChannelOver(os::Fd connection, const std::string& authority) {
  KeepCallbackThreads();
  grpc::ChannelArguments arguments;
  arguments.SetString(GRPC_ARG_DEFAULT_AUTHORITY, authority);
  arguments.SetMaxReceiveMessageSize(kMaxReceive);
  return grpc::CreateCustomInsecureChannelFromFd("plugin", connection.Release(), arguments);
}

}  // namespace tessera::kubelet::embedded
