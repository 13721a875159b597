// SPDX-License-Identifier: Apache-2.0
#include "http/blocking.h"

#include <csignal>
#include <ctime>
#include <optional>
#include <utility>

#include "http/remote.h"
#include "http/target.h"
#include "os/address.h"

namespace tessera::http {
namespace {

constexpr size_t kMaxResponse = 64U * 1024 * 1024;

// Blocks SIGPIPE during an exchange. Otherwise a server that closes while we write would kill a
// command that does not ignore the signal.
class SigpipeBlocked {
 public:
  SigpipeBlocked() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    sigpending(&pending);
    pending_ = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~SigpipeBlocked() {
    const timespec now{};
    if (!pending_) (void)sigtimedwait(&pipe_, nullptr, &now);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  SigpipeBlocked(const SigpipeBlocked&) = delete;
  SigpipeBlocked& operator=(const SigpipeBlocked&) = delete;

 private:
  sigset_t pipe_{};
  sigset_t before_{};
  bool pending_ = false;  // pending before the exchange
};

Call CallOf(const Request& request) {
  Call call;
  call.method = request.method;
  call.target = WriteTarget(request.path, request.query);
  if (request.method == "POST") call.headers["Content-Type"] = "application/json";
  call.body = request.body;
  return call;
}

Response ResponseOf(Reply reply, std::string body) {
  Response response;
  response.status = reply.status;
  response.content_type = std::exchange(reply.headers["content-type"], "");
  response.body = body.empty() ? std::move(reply.body) : std::move(body);
  return response;
}

Result<Response> Exchanged(const Endpoint& endpoint, const Request& request, Duration timeout) {
  const SigpipeBlocked blocked;
  os::Loop loop;
  Remote server(loop, endpoint);
  std::string body;  // of a 2xx answer
  std::optional<Result<Response>> answer;
  const auto end = [&](Result<Response> with) {
    answer = std::move(with);
    loop.Stop();
  };
  const auto exchange = server.Ask(
      CallOf(request), timeout,
      [&](Result<Reply> reply) {
        if (!reply) return end(Fail(reply.error()));
        if (!answer) end(ResponseOf(*std::move(reply), std::move(body)));
      },
      [&](std::string_view piece) {
        if (answer) return;
        body += piece;
        if (body.size() > kMaxResponse) end(Fail(Reason::kInvalid, "the answer is over 64 MiB"));
      });
  loop.Run();
  return *std::move(answer);
}

Result<Response> Successful(Response response) {
  if (response.status >= 400) return Fail(FailureIn(response));
  return response;
}

}  // namespace

Result<Response> ExchangeUnix(const std::string& socket_path, const Request& request,
                              Duration timeout) {
  Endpoint endpoint;
  endpoint.socket = socket_path;
  endpoint.tls = false;
  return Exchanged(endpoint, request, timeout);
}

Result<Response> CallUnix(const std::string& socket_path, const Request& request,
                          Duration timeout) {
  return Successful(TRY(ExchangeUnix(socket_path, request, timeout)));
}

Result<Response> CallTcp(const std::string& address, const Request& request, Duration timeout) {
  Endpoint endpoint;
  endpoint.port = os::PortOf(TRY(os::ParseAddress(address)));
  endpoint.host = address.substr(0, address.rfind(':'));
  endpoint.tls = false;
  return Successful(TRY(Exchanged(endpoint, request, timeout)));
}

}  // namespace tessera::http
