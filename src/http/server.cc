// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>
#include <utility>

#include "base/log.h"
#include "http/http.h"
#include "http/listen.h"
#include "http/served_connections.h"
#include "http/tls.h"
#include "os/address.h"
#include "os/descriptors.h"
#include "os/files.h"
#include "os/unix_socket.h"

namespace tessera::http {
namespace {

constexpr Duration kAcceptPause{1'000};
constexpr Duration kTellAgain{600'000};
// Accepts for each turn of the loop, so that other events proceed during a flood.
constexpr int kAcceptsATurn = 16;
// Connections in the kernel's queue. Beyond it, a client's connect is dropped and retried after a
// second.
constexpr int kBacklog = 4096;
// Kernel buffers count for the pod's memory too.
constexpr int kSendBuffer = 64 * 1024;
constexpr int kReceiveBuffer = 16 * 1024;
// A listener may use one in this many of the process's descriptors for connections.
constexpr size_t kDescriptorsAConnection = 8;

// Only the owner connects to a unix socket, so these limits guard against mistakes.
constexpr ConnectionLimits kOwners{.all = 32,
                                   .of_peer = 32,
                                   .of_loopback = 32,
                                   .received = size_t{64} << 20U,
                                   .waiting = size_t{64} << 20U};

ConnectionLimits Suited(ConnectionLimits bounds) {
  const size_t most = std::max<size_t>(os::DescriptorLimit() / kDescriptorsAConnection, 2);
  bounds.all = std::min(bounds.all, most);
  bounds.of_peer = std::min(bounds.of_peer, most);
  bounds.of_loopback = std::min(bounds.of_loopback, most);
  return bounds;
}

template <class T>
std::string BytesOf(const T& value) {
  std::string bytes(sizeof value, 0);
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

Peer PeerOfIpv4(in_addr_t host) {
  return ntohl(host) >> 24U == IN_LOOPBACKNET ? Peer{} : Peer{BytesOf(host)};
}

Peer PeerOf(const os::Address& address) {
  if (address.family() == AF_INET) {
    sockaddr_in in{};
    std::memcpy(&in, &address.storage, sizeof in);
    return PeerOfIpv4(in.sin_addr.s_addr);
  }
  if (address.family() != AF_INET6) return {};
  sockaddr_in6 in{};
  std::memcpy(&in, &address.storage, sizeof in);
  if (IN6_IS_ADDR_LOOPBACK(&in.sin6_addr)) return {};
  if (!IN6_IS_ADDR_V4MAPPED(&in.sin6_addr)) return {BytesOf(in.sin6_addr)};
  in_addr_t host = 0;
  std::memcpy(&host, &in.sin6_addr.s6_addr[12], sizeof host);
  return PeerOfIpv4(host);
}

Result<os::Fd> Bind(const os::Address& address, std::string_view text) {
  os::Fd fd(socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return Fail(SystemError("cannot make a socket", errno));
  // Without this, a restart would wait for the former process's connections to time out.
  int on = 1;
  setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (address.family() == AF_INET6) {
    int only_ipv6 = address.any ? 0 : 1;
    setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &only_ipv6, sizeof only_ipv6);
  }
  // Accepted connections inherit the listener's options.
  setsockopt(fd.get(), SOL_SOCKET, SO_SNDBUF, &kSendBuffer, sizeof kSendBuffer);
  setsockopt(fd.get(), SOL_SOCKET, SO_RCVBUF, &kReceiveBuffer, sizeof kReceiveBuffer);
  // On kept TLS connections, an answer's body is a second segment, which Nagle's algorithm would
  // delay.
  setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (bind(fd.get(), address.get(), address.length) != 0 || listen(fd.get(), kBacklog) != 0) {
    if (errno == EADDRINUSE) return Fail(Reason::kPortInUse, "cannot listen on {}", text);
    return Fail(SystemError(fmt::format("cannot listen on {}", text), errno));
  }
  return fd;
}

Result<int> BoundPort(const os::Fd& fd) {
  os::Address address;
  address.length = sizeof address.storage;
  if (getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address.storage), &address.length) != 0) {
    return Fail(SystemError("cannot read the port", errno));
  }
  return os::PortOf(address);
}

}  // namespace

struct Server::Impl {
  Impl(os::Loop& loop_, os::Fd listener_, AsyncHandler handler, const Takes& takes,
       const ConnectionLimits& bounds)
      : loop(loop_),
        listener(std::move(listener_)),
        connections(loop_, std::move(handler), takes, Suited(bounds)) {
    Watch();
  }

  void Watch() {
    watch = loop.WhenReadable(listener.get(), [this] { Accept(); });
  }

  void Accept() {
    if (!spare.valid()) spare = Spare();
    const uint64_t dropped = connections.dropped();
    for (int i = 0; i < kAcceptsATurn; ++i) {
      os::Address address;
      address.length = sizeof address.storage;
      os::Fd accepted(accept4(listener.get(), reinterpret_cast<sockaddr*>(&address.storage),
                              &address.length, SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (accepted.valid()) {
        short_of_descriptors &= !spare.valid();
        Add(std::move(accepted), PeerOf(address));
      } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
        break;
      } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
        if (!MakeRoom(SystemError("accept", errno))) return Pause();
      }  // else the peer has gone, and the next is asked for
    }
    if (connections.dropped() > dropped) TellDropped();
  }

  void Add(os::Fd accepted, const Peer& peer) {
    if (!tls) return connections.Add(Wire(std::move(accepted)), peer);
    auto session = tls->Accept(accepted.get());
    if (session) connections.Add(Wire(std::move(accepted), std::move(session)), peer);
  }

  static os::Fd Spare() { return os::Fd(open("/dev/null", O_RDONLY | O_CLOEXEC)); }

  // Descriptors have run out. Frees the spare one, or ends a connection.
  bool MakeRoom(const Error& error) {
    if (!std::exchange(short_of_descriptors, true)) log::Warn("cannot accept a connection", error);
    if (!spare.valid()) return connections.DropOne();
    spare.Reset();
    return true;
  }

  // The waiting connection would make the listener readable again at once, so the loop would spin.
  // Stop watching for a while.
  void Pause() {
    watch = os::Loop::Handle();
    pause = loop.After(kAcceptPause, [this] { Watch(); });
  }

  void TellDropped() {
    const Steady now = SystemClock().Now();
    if (told && now - *told < kTellAgain) return;
    told = now;
    log::Warn("closed connections to accept new ones", {{"connections", connections.size()}});
  }

  os::Loop& loop;
  os::Fd listener;
  os::Fd spare = Spare();
  ServedConnections connections;
  std::optional<Tls> tls;  // for new connections
  int port = 0;
  std::string path;  // of a unix socket
  // Its file, to recognize a successor's file at the same path.
  std::optional<os::FileInfo> socket;
  bool short_of_descriptors = false;  // already logged
  std::optional<Steady> told;         // last log of dropped connections
  os::Loop::Handle watch;
  os::Loop::Handle pause;
};

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Server::~Server() {
  if (impl_->path.empty()) return;
  // A successor may have replaced the socket's file already.
  auto now = os::Inspect(impl_->path);
  bool ours = now && impl_->socket && now->inode == impl_->socket->inode &&
              now->device == impl_->socket->device;
  if (ours) (void)os::RemoveFile(impl_->path);
}

int Server::port() const {
  return impl_->port;
}

Status Server::Change(const Identity& identity) {
  if (!impl_->tls) return Fail(Reason::kInvalid, "this listener has no TLS");
  impl_->tls = TRY(Tls::Make(identity));
  return {};
}

uint64_t Server::dropped() const {
  return impl_->connections.dropped();
}

Result<std::unique_ptr<Server>> Server::ListenTcp(os::Loop& loop, const std::string& address,
                                                  Handler handler) {
  return ListenTcp(loop, address, AtOnce(std::move(handler)), {.takes = Takes::kQuestions});
}

Result<std::unique_ptr<Server>> Server::ListenTcp(os::Loop& loop, const std::string& address,
                                                  AsyncHandler handler,
                                                  const ListenOptions& options) {
  os::Address parsed = TRY(os::ParseAddress(address));
  auto listener = Bind(parsed, address);
  bool no_ipv6 = !listener && listener.error().reason == Reason::kIo;
  if (parsed.any && no_ipv6) listener = Bind(os::AnyIpv4(os::PortOf(parsed)), address);
  if (!listener) return Fail(listener.error());
  const int port = TRY(BoundPort(*listener));
  std::optional<Tls> tls;
  if (options.identity) {
    // OpenSSL writes without MSG_NOSIGNAL, so a closed peer would kill the process.
    signal(SIGPIPE, SIG_IGN);  // NOLINT(concurrency-mt-unsafe): to the same every time
    tls = TRY(Tls::Make(*options.identity));
  }
  auto impl = std::make_unique<Impl>(loop, *std::move(listener), std::move(handler), options.takes,
                                     options.bounds);
  impl->tls = std::move(tls);
  impl->port = port;
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

Result<std::unique_ptr<Server>> Server::ListenUnix(os::Loop& loop, const std::string& path,
                                                   Handler handler) {
  os::RemoveStaleSocket(path);
  os::Fd listener = TRY(os::ListenUnix(path, 0600));
  auto impl = std::make_unique<Impl>(loop, std::move(listener), AtOnce(std::move(handler)),
                                     Takes::kOrders, kOwners);
  impl->path = path;
  if (auto info = os::Inspect(path)) impl->socket = *info;
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

}  // namespace tessera::http
