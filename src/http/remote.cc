// SPDX-License-Identifier: Apache-2.0
// Uses libevent's connections with our own parser (reply_parser.h). libevent's HTTP client delivers
// a chunk only when it is complete, and API servers send all available data as one chunk.
// libevent's callbacks only record events. A timer then calls the caller's callbacks, which may
// destroy any object here.
#include "http/remote.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>
#include <vector>

#include "http/lookup.h"
#include "http/reply_parser.h"
#include "http/tls.h"
#include "os/address.h"
#include "os/unix_socket.h"

namespace tessera::http {
namespace {

constexpr size_t kMaxWaiting = 256 << 10;  // received bytes not processed yet

bool IsMethod(std::string_view name) {
  return name == "GET" || name == "POST" || name == "PUT" || name == "PATCH" || name == "DELETE";
}

// Without a line end, which would start another header.
bool IsHeader(const std::string& text) {
  return text.find_first_of(std::string_view("\r\n\0", 3)) == std::string::npos;
}

// Nothing if the call cannot be expressed in HTTP.
std::optional<std::string> RequestOf(const Call& call, const std::string& host) {
  const bool target = std::ranges::all_of(call.target, [](char c) { return c > ' ' && c <= '~'; });
  if (!IsMethod(call.method) || !target) return std::nullopt;
  std::string text = fmt::format("{} {} HTTP/1.1\r\nHost: {}\r\n", call.method, call.target, host);
  for (const auto& [name, value] : call.headers) {
    if (!IsHeader(name) || !IsHeader(value)) return std::nullopt;
    text += fmt::format("{}: {}\r\n", name, value);
  }
  if (call.method == "POST" || call.method == "PUT" || !call.body.empty()) {
    text += fmt::format("Content-Length: {}\r\n", call.body.size());
  }
  return text + "\r\n" + call.body;
}

std::string Take(evbuffer* input) {
  std::string bytes(evbuffer_get_length(input), '\0');
  evbuffer_remove(input, bytes.data(), bytes.size());
  return bytes;
}

// The body follows its headers in a second segment. Nagle's algorithm would hold it until the
// server acknowledges the headers, up to 40 ms later.
void SendAtOnce(evutil_socket_t fd) {
  const int on = 1;
  (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

// A connection to the server. A closed one is not reused, because its TLS state cannot be.
struct Connection {
  Connection(bufferevent* buffers_, std::optional<Tls> tls_)
      : tls(std::move(tls_)), buffers(buffers_) {
    bufferevent_setwatermark(buffers, EV_READ, 0, kMaxWaiting);
  }
  ~Connection() { bufferevent_free(buffers); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  std::string TlsTrouble() const { return tls ? tls->Trouble(buffers) : ""; }
  // Idles the connection. Any byte or event on it makes it unusable.
  void Rest() { bufferevent_setcb(buffers, &Connection::Stray, nullptr, &Connection::Ended, this); }

  const std::optional<Tls> tls;  // owner of the buffers' TLS
  bufferevent* const buffers;
  bool closed = false;

 private:
  // A deferred callback may come after its bytes were read.
  static void Stray(bufferevent* buffers, void* self) noexcept {
    if (evbuffer_get_length(bufferevent_get_input(buffers)) == 0) return;
    static_cast<Connection*>(self)->closed = true;
  }
  static void Ended(bufferevent*, short, void* self) noexcept {
    static_cast<Connection*>(self)->closed = true;
  }
};

}  // namespace

struct Remote::Impl {
  explicit Impl(os::Loop& loop_) : loop(loop_) {}

  // Empty for a unix socket, since its errors name the path.
  std::string Where() const {
    if (!endpoint.socket.empty()) return "";
    const bool brackets = endpoint.host.find(':') != std::string::npos;
    return brackets ? fmt::format("[{}]:{}", endpoint.host, endpoint.port)
                    : fmt::format("{}:{}", endpoint.host, endpoint.port);
  }

  Result<std::unique_ptr<Connection>> NewConnection() {
    bufferevent* buffers = nullptr;
    if (endpoint.tls) {
      if (!tls) tls = TRY(Tls::Make(endpoint));
      buffers = tls->NewBuffers(loop.base());
    } else {
      buffers =
          bufferevent_socket_new(loop.base(), -1, BEV_OPT_CLOSE_ON_FREE | BEV_OPT_DEFER_CALLBACKS);
    }
    if (buffers == nullptr) return Fail(Reason::kInternal, "cannot make a connection");
    return std::make_unique<Connection>(buffers, tls);
  }

  os::Loop& loop;
  Endpoint endpoint;
  std::optional<Tls> tls;
  std::unique_ptr<Connection> kept;  // open, for the next call
  size_t turn = 0;                   // index of the address to try next
  // Changes of the endpoint so far. Only a connection to the current one is kept.
  uint64_t changes = 0;
};

// The caller's callbacks. Shared, since they may destroy the exchange while they run.
struct Listener {
  std::optional<Duration> silence;  // for Follow, which has its own connection
  Remote::Piece piece;              // nullptr: deliver the whole answer
  Remote::Done done;
};

struct Exchange::Impl {
  Impl(Remote::Impl& remote_, Call call_, Duration limit_, Listener listener_)
      : remote(remote_),
        call(std::move(call_)),
        limit(limit_),
        listener(std::make_shared<const Listener>(std::move(listener_))),
        where(remote.Where()),
        changes(remote.changes) {
    delivery = remote.loop.After(Duration(0), [this] { Start(); });
  }
  ~Impl() { *alive = false; }

  bool Followed() const { return listener->silence.has_value(); }

  void Start() {
    delivery = os::Loop::Handle();
    Extend();
    if (!Followed() && remote.kept && !remote.kept->closed) {
      connection = std::move(remote.kept);
      reused = connected = true;
      Listen();
      return Send();
    }
    Connect();
  }

  void Connect() {
    reused = connected = false;
    if (!remote.endpoint.socket.empty()) return ConnectToSocket(remote.endpoint.socket);
    const std::string& host = remote.endpoint.host;
    if (os::IsAddress(host)) return ConnectTo(host);
    lookup = std::make_unique<Lookup>(remote.loop, host,
                                      [this](const Result<std::vector<std::string>>& addresses) {
                                        if (!addresses) return End(addresses.error());
                                        ConnectTo((*addresses)[remote.turn % addresses->size()]);
                                      });
  }

  void ConnectTo(const std::string& host) {
    const bool brackets = host.find(':') != std::string::npos;
    const auto address = os::ParseAddress(fmt::format("{}{}{}:{}", brackets ? "[" : "", host,
                                                      brackets ? "]" : "", remote.endpoint.port));
    if (!address) return End({Reason::kUnavailable, address.error().message});
    auto made = remote.NewConnection();
    if (!made) return End(made.error());
    connection = *std::move(made);
    Listen();
    if (bufferevent_socket_connect(connection->buffers, address->get(),
                                   static_cast<int>(address->length)) != 0) {
      End({Reason::kUnavailable, "no connection can be opened"});
    }
  }

  // A unix socket connects immediately or fails.
  void ConnectToSocket(const std::string& path) {
    auto socket = os::ConnectUnix(path, Duration(0));
    if (!socket) return End(socket.error());
    auto made = remote.NewConnection();
    if (!made) return End(made.error());
    connection = *std::move(made);
    bufferevent_setfd(connection->buffers, socket->Release());
    connected = true;
    Listen();
    Send();
  }

  void Listen() {
    bufferevent_setcb(connection->buffers, &Impl::Readable, nullptr, &Impl::Happened, this);
    bufferevent_enable(connection->buffers, EV_READ | EV_WRITE);
  }

  void Send() {
    const auto request = RequestOf(call, where.empty() ? "localhost" : where);
    if (!request) return End({Reason::kInvalid, "the call cannot be written as an HTTP request"});
    bufferevent_write(connection->buffers, request->data(), request->size());
  }

  // libevent's callbacks only record events. They call no callback of the caller, since that might
  // destroy the exchange.

  static void Readable(bufferevent*, void* argument) noexcept {
    static_cast<Impl*>(argument)->DeliverSoon();
  }

  static void Happened(bufferevent* buffers, short what, void* argument) noexcept {
    const int error = errno;
    auto* self = static_cast<Impl*>(argument);
    // A server that refuses early stops reading. Its answer has the reason, so a write error is
    // ignored here.
    constexpr short kEither = BEV_EVENT_READING | BEV_EVENT_WRITING;
    const bool wrote = (what & kEither) == BEV_EVENT_WRITING && self->connected;
    if (wrote && !self->connection->tls) return;
    if ((what & BEV_EVENT_CONNECTED) != 0) {
      self->connected = true;
      SendAtOnce(bufferevent_getfd(buffers));
      return self->Send();
    }
    self->ended = true;
    self->trouble = self->connection->TlsTrouble();
    if (!self->connected && self->trouble.empty()) {
      const bool known = (what & BEV_EVENT_ERROR) != 0 && error != 0;
      self->trouble = !known                  ? "the connection closed before it was established"
                      : error == ECONNREFUSED ? "connection refused"
                                              : SystemError("cannot connect", error).message;
    }
    self->DeliverSoon();
  }

  void DeliverSoon() {
    if (!delivery) delivery = remote.loop.After(Duration(0), [this] { Deliver(); });
  }

  // The functions below call the caller's callbacks.

  void Deliver() {
    delivery = os::Loop::Handle();
    Read();
    Extend();
    const std::shared_ptr<const Listener> told = listener;
    if (told->piece && IsGood() && !reply.body.empty()) {
      const std::shared_ptr<const bool> still = alive;
      told->piece(std::exchange(reply.body, ""));
      if (!*still) return;
    }
    if (!whole && !ended) return;
    if (!whole) return Broken();
    const bool keeps = parser.keeps_connection() && !ended && changes == remote.changes;
    if (!Followed() && keeps) {
      connection->Rest();
      remote.kept = std::move(connection);
    }
    Close();
    told->done(std::move(reply));
  }

  // Parses the bytes received so far.
  void Read() {
    if (!connection || !connected) return;
    std::string bytes = Take(bufferevent_get_input(connection->buffers));
    Status read = parser.Add(bytes, reply.body);
    if (read && ended) read = parser.End();
    if (!read && trouble.empty()) trouble = read.error().message;
    whole = parser.done();
    ended = ended || !read;
    reply.status = parser.status();
    if (reply.status != 0 && reply.headers.empty()) reply.headers = parser.headers();
    Bound();
  }

  bool IsGood() const { return reply.status / 100 == 2; }

  void Bound() {
    if (!IsGood()) {
      reply.body.resize(std::min(reply.body.size(), Remote::kMaxRefusal));
    } else if (!listener->piece && reply.body.size() > Remote::kMaxBody) {
      trouble = "the answer is over 1 MiB";
      whole = false;
      ended = true;
    }
  }

  void Broken() {
    connection.reset();
    // The server closed the idle connection as we wrote. That is no failure of the server, so the
    // call is sent again on a new connection.
    if (reused && reply.status == 0 && !call.once) {
      trouble.clear();
      ended = false;
      return Connect();
    }
    End({Reason::kUnavailable, trouble});
  }

  // The limit covers the whole answer, or its headers if the body is followed.
  void Extend() {
    if (timer && !(Followed() && reply.status != 0)) return;
    timer = remote.loop.After(reply.status == 0 ? limit : *listener->silence,
                              [this] { End({Reason::kTimedOut, "no answer in time"}); });
  }

  void End(const Error& error) {
    if (!connected) ++remote.turn;
    Close();
    const std::shared_ptr<const Listener> told = listener;
    told->done(Fail(where.empty() ? error : error.In(where)));
  }

  void Close() {
    timer = os::Loop::Handle();
    delivery = os::Loop::Handle();
    lookup.reset();
    connection.reset();
  }

  Remote::Impl& remote;
  const Call call;
  const Duration limit;
  const std::shared_ptr<const Listener> listener;
  const std::string where;
  const uint64_t changes;

  std::unique_ptr<Lookup> lookup;
  std::unique_ptr<Connection> connection;
  bool reused = false;     // on a kept connection
  bool connected = false;  // including the TLS handshake

  ReplyParser parser;
  Reply reply;
  bool whole = false;
  std::string trouble;  // the failure
  bool ended = false;   // the connection has ended
  os::Loop::Handle timer;
  os::Loop::Handle delivery;
  std::shared_ptr<bool> alive = std::make_shared<bool>(true);
};

Exchange::Exchange(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Exchange::~Exchange() = default;

Remote::Remote(os::Loop& loop, Endpoint endpoint) : impl_(std::make_unique<Impl>(loop)) {
  impl_->endpoint = std::move(endpoint);
}

Remote::~Remote() = default;

void Remote::Change(const Endpoint& endpoint) {
  if (impl_->endpoint == endpoint) return;
  impl_->endpoint = endpoint;
  impl_->tls.reset();
  impl_->kept.reset();
  ++impl_->changes;
}

std::unique_ptr<Exchange> Remote::Ask(Call call, Duration limit, Done done, Piece piece) {
  return std::make_unique<Exchange>(std::make_unique<Exchange::Impl>(
      *impl_, std::move(call), limit, Listener{std::nullopt, std::move(piece), std::move(done)}));
}

std::unique_ptr<Exchange> Remote::Follow(Call call, Duration limit, Duration silence, Piece piece,
                                         Done done) {
  return std::make_unique<Exchange>(std::make_unique<Exchange::Impl>(
      *impl_, std::move(call), limit, Listener{silence, std::move(piece), std::move(done)}));
}

}  // namespace tessera::http
