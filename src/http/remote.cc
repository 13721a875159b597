// SPDX-License-Identifier: Apache-2.0
// libevent's HTTP client frees connections that fail while it calls back, and takes it ill when
// others do. So its callbacks only write down what happened here; who asked is told by a timer,
// with none of libevent's functions below, and may destroy what he likes.
#include "http/remote.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/keyvalq_struct.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>
#include <vector>

#include "http/lookup.h"
#include "http/tls.h"
#include "os/address.h"

namespace tessera::http {
namespace {

constexpr ev_ssize_t kMaxHeaders = 64 * 1024;
constexpr timeval kNoLimit{.tv_sec = 86'400, .tv_usec = 0};  // ours are the exchanges' timers

std::optional<evhttp_cmd_type> MethodOf(std::string_view name) {
  if (name == "GET") return EVHTTP_REQ_GET;
  if (name == "POST") return EVHTTP_REQ_POST;
  if (name == "PATCH") return EVHTTP_REQ_PATCH;
  if (name == "DELETE") return EVHTTP_REQ_DELETE;
  return std::nullopt;
}

std::string Take(evbuffer* input) {
  std::string bytes(evbuffer_get_length(input), '\0');
  evbuffer_remove(input, bytes.data(), bytes.size());
  return bytes;
}

std::map<std::string, std::string> HeadersOf(evhttp_request* request) {
  std::map<std::string, std::string> headers;
  const evkeyvalq* all = evhttp_request_get_input_headers(request);
  for (const evkeyval* one = all->tqh_first; one != nullptr; one = one->next.tqe_next) {
    std::string name = one->key;
    std::transform(name.begin(), name.end(), name.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    headers.emplace(std::move(name), one->value);
  }
  return headers;
}

std::string WordsFor(evhttp_request_error error, bool begun) {
  switch (error) {
    case EVREQ_HTTP_DATA_TOO_LONG:
      return "the answer is over 64 MiB, or garbled";
    case EVREQ_HTTP_INVALID_HEADER:
      return "the answer is not HTTP";
    default:
      return begun ? "the connection ended in the middle of the answer"
                   : "the connection ended before an answer came";
  }
}

// A body goes out behind its headers: the kernel would keep it until the server says that it has
// these, and servers take up to 40 ms to say so.
void SendAtOnce(evutil_socket_t fd) {
  const int on = 1;
  (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

// A connection to the server. Not reused once it was closed: its TLS cannot be.
struct Connection {
  Connection(event_base* base, bufferevent* buffers, std::optional<Tls> tls_,
             const std::string& address, int port)
      : tls(std::move(tls_)),
        http(evhttp_connection_base_bufferevent_new(base, nullptr, buffers, address.c_str(),
                                                    static_cast<uint16_t>(port))) {
    evhttp_connection_set_timeout_tv(http, &kNoLimit);
    evhttp_connection_set_max_headers_size(http, kMaxHeaders);
    evhttp_connection_set_max_body_size(http, Remote::kMaxBody);
    evhttp_connection_set_closecb(
        http, [](evhttp_connection*, void* self) { static_cast<Connection*>(self)->closed = true; },
        this);
  }
  ~Connection() { evhttp_connection_free(http); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  bufferevent* buffers() const { return evhttp_connection_get_bufferevent(http); }
  std::string TlsTrouble() const { return tls ? tls->Trouble(buffers()) : ""; }

  const std::optional<Tls> tls;  // that its buffers are of
  evhttp_connection* http;
  bool closed = false;
};

}  // namespace

struct Remote::Impl {
  explicit Impl(os::Loop& loop_) : loop(loop_) {}

  std::string Where() const {
    const bool brackets = endpoint.host.find(':') != std::string::npos;
    return brackets ? fmt::format("[{}]:{}", endpoint.host, endpoint.port)
                    : fmt::format("{}:{}", endpoint.host, endpoint.port);
  }

  Result<std::unique_ptr<Connection>> NewConnection(const std::string& address) {
    bufferevent* buffers = nullptr;
    if (endpoint.tls) {
      if (!tls) tls = TRY(Tls::Make(endpoint));
      buffers = tls->NewBuffers(loop.base());
    } else {
      buffers =
          bufferevent_socket_new(loop.base(), -1, BEV_OPT_CLOSE_ON_FREE | BEV_OPT_DEFER_CALLBACKS);
    }
    if (buffers == nullptr) return Fail(Reason::kInternal, "cannot make a connection");
    return std::make_unique<Connection>(loop.base(), buffers, tls, address, endpoint.port);
  }

  os::Loop& loop;
  Endpoint endpoint;
  std::optional<Tls> tls;
  std::unique_ptr<Connection> kept;  // open, for the next call
  size_t turn = 0;                   // which of several addresses is tried next
  uint64_t changes = 0;              // of the endpoint: a connection is kept for the present one
};

// What is called in the end. Shared, since it may destroy the exchange while it runs.
struct Listener {
  Duration silence;
  Remote::Piece piece;  // nullptr where the answer is wanted whole
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

  bool Followed() const { return listener->piece != nullptr; }

  void Start() {
    delivery = os::Loop::Handle();
    Extend();
    if (!Followed() && remote.kept && !remote.kept->closed) {
      connection = std::move(remote.kept);
      reused = connected = true;
      return Send();
    }
    Connect();
  }

  void Connect() {
    reused = connected = false;
    const std::string& host = remote.endpoint.host;
    if (os::IsAddress(host)) return ConnectTo(host);
    lookup = std::make_unique<Lookup>(remote.loop, host,
                                      [this](const Result<std::vector<std::string>>& addresses) {
                                        if (!addresses) return End(addresses.error());
                                        ConnectTo((*addresses)[remote.turn % addresses->size()]);
                                      });
  }

  void ConnectTo(const std::string& address) {
    auto made = remote.NewConnection(address);
    if (!made) return End(made.error());
    connection = *std::move(made);
    Send();
  }

  void Send() {
    const auto method = MethodOf(call.method);
    evhttp_request* request = method ? NewRequest() : nullptr;
    if (request == nullptr) return End({Reason::kInvalid, "a call that HTTP has no words for"});
    if (evhttp_make_request(connection->http, request, *method, call.target.c_str()) != 0) {
      return End({Reason::kUnavailable, "no connection can be opened"});
    }
    // What ends the attempt to connect is told to evhttp's callback alone.
    if (!reused && !ended) {
      bufferevent* buffers = connection->buffers();
      bufferevent_getcb(buffers, nullptr, nullptr, &connecting, &connecting_argument);
      bufferevent_setcb(buffers, nullptr, nullptr, &Impl::Connecting, this);
    }
  }

  // nullptr where a header has a line end in it.
  evhttp_request* NewRequest() {
    evhttp_request* request = evhttp_request_new(&Impl::Finished, this);
    evhttp_request_set_error_cb(request, &Impl::Failed);
    evhttp_request_set_header_cb(request, &Impl::Headers);
    if (Followed()) evhttp_request_set_chunked_cb(request, &Impl::Pieces);
    evkeyvalq* headers = evhttp_request_get_output_headers(request);
    bool good = evhttp_add_header(headers, "Host", where.c_str()) == 0;
    for (const auto& [name, value] : call.headers) {
      good = good && evhttp_add_header(headers, name.c_str(), value.c_str()) == 0;
    }
    if (!call.body.empty()) {  // evhttp adds it to some methods only
      evhttp_add_header(headers, "Content-Length", std::to_string(call.body.size()).c_str());
    }
    good = good && std::all_of(call.target.begin(), call.target.end(),
                               [](char c) { return c > ' ' && c <= '~'; });
    if (!good) {
      evhttp_request_free(request);
      return nullptr;
    }
    evbuffer_add(evhttp_request_get_output_buffer(request), call.body.data(), call.body.size());
    return request;
  }

  // libevent's callbacks: they write down, and call nobody.

  static void Connecting(bufferevent* buffers, short what, void* argument) noexcept {
    const int error = errno;
    auto* self = static_cast<Impl*>(argument);
    self->connected = (what & BEV_EVENT_CONNECTED) != 0;
    if (self->connected) SendAtOnce(bufferevent_getfd(buffers));
    if (!self->connected) {
      self->trouble = self->connection->TlsTrouble();
      if (self->trouble.empty() && (what & BEV_EVENT_ERROR) != 0 && error != 0) {
        self->trouble = error == ECONNREFUSED ? "connection refused"
                                              : SystemError("cannot connect", error).message;
      }
      if (self->trouble.empty()) self->trouble = "the connection ended before it was made";
    }
    errno = error;  // evhttp looks at it
    self->connecting(buffers, what, self->connecting_argument);
  }

  static int Headers(evhttp_request* request, void* argument) noexcept {
    auto* self = static_cast<Impl*>(argument);
    self->reply.status = evhttp_request_get_response_code(request);
    self->reply.headers = HeadersOf(request);
    self->DeliverSoon();
    return 0;
  }

  static void Pieces(evhttp_request* request, void* argument) noexcept {
    auto* self = static_cast<Impl*>(argument);
    self->reply.body += Take(evhttp_request_get_input_buffer(request));
    self->DeliverSoon();
  }

  static void Failed(evhttp_request_error error, void* argument) noexcept {
    auto* self = static_cast<Impl*>(argument);
    if (self->trouble.empty() && self->connection) {
      self->trouble = self->connection->TlsTrouble();
    }
    if (self->trouble.empty()) self->trouble = WordsFor(error, self->reply.status != 0);
  }

  static void Finished(evhttp_request* request, void* argument) noexcept {
    auto* self = static_cast<Impl*>(argument);
    const bool whole = request != nullptr && self->reply.status != 0;
    if (whole) {
      self->reply.body += Take(evhttp_request_get_input_buffer(request));
    } else if (self->trouble.empty()) {
      self->trouble = "no connection can be opened";
    }
    self->ended = true;
    self->DeliverSoon();
  }

  void DeliverSoon() {
    if (!delivery) delivery = remote.loop.After(Duration(0), [this] { Deliver(); });
  }

  // From here on the functions of those who asked are called.

  void Deliver() {
    delivery = os::Loop::Handle();
    Extend();
    const std::shared_ptr<const Listener> told = listener;
    if (Followed() && reply.status / 100 == 2 && !reply.body.empty()) {
      const std::shared_ptr<const bool> still = alive;
      told->piece(std::exchange(reply.body, ""));
      if (!*still) return;
    }
    if (!ended) return;
    if (!trouble.empty()) return Broken();
    if (!Followed() && !connection->closed && changes == remote.changes) {
      remote.kept = std::move(connection);
    }
    Close();
    told->done(std::move(reply));
  }

  void Broken() {
    connection.reset();
    // The server closed the kept connection while we wrote: that says nothing of the server.
    if (reused && reply.status == 0) {
      trouble.clear();
      ended = false;
      return Connect();
    }
    End({Reason::kUnavailable, trouble});
  }

  // The limit is one of the whole, or of what comes before the body where that is followed.
  void Extend() {
    if (timer && !(Followed() && reply.status != 0)) return;
    timer = remote.loop.After(reply.status == 0 ? limit : listener->silence,
                              [this] { End({Reason::kTimedOut, "no answer in time"}); });
  }

  void End(const Error& error) {
    if (!connected) ++remote.turn;
    Close();
    const std::shared_ptr<const Listener> told = listener;
    told->done(Fail(error.In(where)));
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
  bool reused = false;     // an earlier answer left the connection open
  bool connected = false;  // with TLS, where there is TLS
  bufferevent_event_cb connecting = nullptr;
  void* connecting_argument = nullptr;

  Reply reply;
  std::string trouble;  // why there is no whole reply
  bool ended = false;
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

std::unique_ptr<Exchange> Remote::Ask(Call call, Duration limit, Done done) {
  return std::make_unique<Exchange>(std::make_unique<Exchange::Impl>(
      *impl_, std::move(call), limit, Listener{limit, nullptr, std::move(done)}));
}

std::unique_ptr<Exchange> Remote::Follow(Call call, Duration limit, Duration silence, Piece piece,
                                         Done done) {
  return std::make_unique<Exchange>(std::make_unique<Exchange::Impl>(
      *impl_, std::move(call), limit, Listener{silence, std::move(piece), std::move(done)}));
}

}  // namespace tessera::http
