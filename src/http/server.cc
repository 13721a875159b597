// SPDX-License-Identifier: Apache-2.0
#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/listener.h>
#include <netinet/in.h>
#include <sys/stat.h>

#include <cerrno>
#include <optional>
#include <utility>

#include "base/log.h"
#include "http/http.h"
#include "http/request.h"
#include "os/address.h"
#include "os/files.h"
#include "os/unix_socket.h"

namespace tessera::http {
namespace {

constexpr timeval kAcceptPause{.tv_sec = 1, .tv_usec = 0};
constexpr timeval kNoPause{.tv_sec = 86'400, .tv_usec = 0};

constexpr ev_ssize_t kMaxHeader = 16 * 1024;
constexpr ev_ssize_t kMaxBody = 1024 * 1024;
constexpr int kIdleSeconds = 30;

struct FreeHttp {
  void operator()(evhttp* http) const { evhttp_free(http); }
};

struct FreeEvent {
  void operator()(event* timer) const { event_free(timer); }
};

const char* MethodName(evhttp_request* request) {
  return evhttp_request_get_command(request) == EVHTTP_REQ_POST ? "POST" : "GET";
}

std::string ReadBody(evhttp_request* request) {
  evbuffer* input = evhttp_request_get_input_buffer(request);
  std::string body(evbuffer_get_length(input), '\0');
  evbuffer_copyout(input, body.data(), body.size());
  return body;
}

void Send(evhttp_request* request, const Response& response) {
  evkeyvalq* headers = evhttp_request_get_output_headers(request);
  evhttp_add_header(headers, "Content-Type", response.content_type.c_str());
  evhttp_add_header(headers, "Content-Length", std::to_string(response.body.size()).c_str());
  evhttp_add_header(headers, "X-Content-Type-Options", "nosniff");
  evhttp_add_header(headers, "Cache-Control", "no-store");
  if (evhttp_request_get_command(request) != EVHTTP_REQ_HEAD) {
    evbuffer* output = evhttp_request_get_output_buffer(request);
    evbuffer_add(output, response.body.data(), response.body.size());
  }
  // A null reason phrase means the standard one.
  evhttp_send_reply(request, response.status, nullptr, nullptr);
}

void Handle(evhttp_request* request, void* handler) noexcept {
  const evhttp_uri* uri = evhttp_request_get_evhttp_uri(request);
  const auto ours = ReadRequest(MethodName(request), evhttp_uri_get_path(uri),
                                evhttp_uri_get_query(uri), ReadBody(request));
  Send(request, ours ? (*static_cast<const Handler*>(handler))(*ours) : Failure(ours.error()));
}

// A listener, and the timer after which it accepts again.
struct Resumption {
  evconnlistener* connections = nullptr;
  event* timer = nullptr;
  bool told = false;  // since the last connection that was accepted
};

void Resume(evutil_socket_t, short, void* argument) noexcept {
  const auto* self = static_cast<Resumption*>(argument);
  evconnlistener_enable(self->connections);
  event_add(self->timer, &kNoPause);
}

// Asked for the buffers of each connection that comes in; evhttp makes its own then.
bufferevent* Accepted(event_base*, void* resumption) noexcept {
  static_cast<Resumption*>(resumption)->told = false;
  return nullptr;
}

// No descriptor is left: the connection stays at the door, and the loop would find it there again
// at once, without end.
void Pause(evconnlistener* connections, void*) noexcept {
  const Error error = SystemError("accept", errno);
  evconnlistener_disable(connections);
  // evhttp keeps the listener's user pointer to itself: its timer is found among the loop's.
  struct Search {
    evconnlistener* connections;
    Resumption* found = nullptr;
  } search{.connections = connections};
  event_base_foreach_event(
      evconnlistener_get_base(connections),
      [](const event_base*, const event* found, void* argument) {
        auto* wanted = static_cast<Search*>(argument);
        if (event_get_callback(found) != &Resume) return 0;
        auto* own = static_cast<Resumption*>(event_get_callback_arg(found));
        if (own->connections != wanted->connections) return 0;
        wanted->found = own;
        return 1;
      },
      &search);
  if (search.found == nullptr) return;
  if (!std::exchange(search.found->told, true)) log::Warn("cannot accept a connection", error);
  event_add(search.found->timer, &kAcceptPause);
}

Result<os::Fd> Bind(const os::Address& address, std::string_view text) {
  os::Fd fd(socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return Fail(SystemError("cannot make a socket", errno));
  // A restart must not wait for connections of the former process to time out.
  int on = 1;
  setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (address.family() == AF_INET6) {
    int only_ipv6 = address.any ? 0 : 1;
    setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &only_ipv6, sizeof only_ipv6);
  }
  if (bind(fd.get(), address.get(), address.length) != 0 || listen(fd.get(), 64) != 0) {
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
  Impl(os::Loop& loop_, Handler handler_)
      : loop(loop_), handler(std::move(handler_)), http(evhttp_new(loop.base())) {}

  // Serves the connections that come in on `listener`.
  Status Serve(os::Fd listener) {
    if (!http) return Fail(Reason::kInternal, "cannot make an HTTP server");
    evhttp_set_max_headers_size(http.get(), kMaxHeader);
    evhttp_set_max_body_size(http.get(), kMaxBody);
    evhttp_set_timeout(http.get(), kIdleSeconds);
    evhttp_set_allowed_methods(http.get(), EVHTTP_REQ_GET | EVHTTP_REQ_POST | EVHTTP_REQ_HEAD);
    evhttp_set_bevcb(http.get(), &Accepted, &resumption);
    evhttp_set_gencb(http.get(), &Handle, &handler);
    evhttp_bound_socket* bound = evhttp_accept_socket_with_handle(http.get(), listener.get());
    if (bound == nullptr) return Fail(Reason::kInternal, "cannot accept connections");
    listener.Release();  // evhttp closes it
    evconnlistener* connections = evhttp_bound_socket_get_listener(bound);
    evconnlistener_set_error_cb(connections, &Pause);
    resumption.connections = connections;
    resumption.timer = event_new(loop.base(), -1, 0, &Resume, &resumption);
    timer.reset(resumption.timer);
    event_add(resumption.timer, &kNoPause);
    return {};
  }

  os::Loop& loop;
  Handler handler;
  std::unique_ptr<evhttp, FreeHttp> http;
  int port = 0;
  std::string path;                    // of a unix socket
  std::optional<os::FileInfo> socket;  // its file, to tell it from a successor's
  Resumption resumption;
  std::unique_ptr<event, FreeEvent> timer;  // ends before the listener that it refers to
};

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Server::~Server() {
  if (impl_->path.empty()) return;
  auto now = os::Inspect(impl_->path);
  bool ours = now && impl_->socket && now->inode == impl_->socket->inode &&
              now->device == impl_->socket->device;
  if (ours) (void)os::RemoveFile(impl_->path);
}

int Server::port() const {
  return impl_->port;
}

Result<std::unique_ptr<Server>> Server::ListenTcp(os::Loop& loop, const std::string& address,
                                                  Handler handler) {
  os::Address parsed = TRY(os::ParseAddress(address));
  auto listener = Bind(parsed, address);
  bool no_ipv6 = !listener && listener.error().reason == Reason::kIo;
  if (parsed.any && no_ipv6) listener = Bind(os::AnyIpv4(os::PortOf(parsed)), address);
  if (!listener) return Fail(listener.error());
  auto impl = std::make_unique<Impl>(loop, std::move(handler));
  impl->port = TRY(BoundPort(*listener));
  TRY(impl->Serve(*std::move(listener)));
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

Result<std::unique_ptr<Server>> Server::ListenUnix(os::Loop& loop, const std::string& path,
                                                   Handler handler) {
  os::RemoveStaleSocket(path);
  os::Fd listener = TRY(os::ListenUnix(path, 0600));
  auto impl = std::make_unique<Impl>(loop, std::move(handler));
  impl->path = path;
  if (auto info = os::Inspect(path)) impl->socket = *info;
  TRY(impl->Serve(std::move(listener)));
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

}  // namespace tessera::http
