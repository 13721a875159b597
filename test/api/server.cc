// SPDX-License-Identifier: Apache-2.0
#include "api/server.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <event2/listener.h>
#include <fmt/core.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <optional>
#include <thread>
#include <utility>

namespace tessera::fake {
namespace {

constexpr int kOptions = BEV_OPT_CLOSE_ON_FREE | BEV_OPT_DEFER_CALLBACKS;

SSL_CTX* NewContext(const ServerTls& tls) {
  SSL_CTX* context = SSL_CTX_new(TLS_server_method());
  BIO* bio = BIO_new_mem_buf(tls.certificate.c_str(), -1);
  X509* certificate = PEM_read_bio_X509(bio, nullptr, nullptr, nullptr);
  SSL_CTX_use_certificate(context, certificate);
  X509_free(certificate);
  BIO_free(bio);
  bio = BIO_new_mem_buf(tls.key.c_str(), -1);
  EVP_PKEY* key = PEM_read_bio_PrivateKey(bio, nullptr, nullptr, nullptr);
  SSL_CTX_use_PrivateKey(context, key);
  EVP_PKEY_free(key);
  BIO_free(bio);
  if (tls.client_ca.empty()) return context;
  bio = BIO_new_mem_buf(tls.client_ca.c_str(), -1);
  X509* authority = PEM_read_bio_X509(bio, nullptr, nullptr, nullptr);
  X509_STORE_add_cert(SSL_CTX_get_cert_store(context), authority);
  X509_free(authority);
  BIO_free(bio);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  return context;
}

// Removes the first request from `text` and returns it; nothing while it is incomplete.
std::optional<Asked> TakeRequest(std::string& text) {
  const size_t end = text.find("\r\n\r\n");
  if (end == std::string::npos) return std::nullopt;
  Asked asked;
  size_t at = text.find("\r\n");
  const std::string first = text.substr(0, at);
  asked.method = first.substr(0, first.find(' '));
  asked.target = first.substr(asked.method.size() + 1, first.rfind(' ') - asked.method.size() - 1);
  while (at < end) {
    const size_t next = text.find("\r\n", at + 2);
    const std::string line = text.substr(at + 2, next - at - 2);
    std::string name = line.substr(0, line.find(':'));
    std::transform(name.begin(), name.end(), name.begin(), ::tolower);
    asked.headers[name] = line.substr(std::min(line.size(), line.find(':') + 2));
    at = next;
  }
  const size_t length =
      asked.headers.contains("content-length") ? std::stoul(asked.headers["content-length"]) : 0;
  if (text.size() < end + 4 + length) return std::nullopt;
  asked.body = text.substr(end + 4, length);
  text.erase(0, end + 4 + length);
  return asked;
}

class Connection : public Peer {
 public:
  Connection(bufferevent* buffers, const Server::Handler& handler)
      : buffers_(buffers), handler_(handler) {
    bufferevent_setcb(buffers, &Connection::Read, &Connection::Written, &Connection::Event, this);
    bufferevent_enable(buffers, EV_READ | EV_WRITE);
  }
  ~Connection() override { Close(); }

  void Send(const std::string& bytes) override {
    if (buffers_ != nullptr) bufferevent_write(buffers_, bytes.data(), bytes.size());
  }
  void HangUp() override {
    ending_ = true;
    if (buffers_ != nullptr && evbuffer_get_length(bufferevent_get_output(buffers_)) == 0) Close();
  }
  bool gone() const override { return buffers_ == nullptr; }
  void Close() {
    if (buffers_ != nullptr) bufferevent_free(std::exchange(buffers_, nullptr));
  }

 private:
  static void Read(bufferevent* buffers, void* self) {
    auto* connection = static_cast<Connection*>(self);
    evbuffer* input = bufferevent_get_input(buffers);
    std::string bytes(evbuffer_get_length(input), '\0');
    evbuffer_remove(input, bytes.data(), bytes.size());
    connection->text_ += bytes;
    while (auto asked = TakeRequest(connection->text_)) connection->handler_(*asked, *connection);
  }
  static void Written(bufferevent*, void* self) {
    auto* connection = static_cast<Connection*>(self);
    if (connection->ending_) connection->Close();
  }
  static void Event(bufferevent*, short what, void* self) {
    if ((what & BEV_EVENT_CONNECTED) == 0) static_cast<Connection*>(self)->Close();
  }

  bufferevent* buffers_;
  const Server::Handler& handler_;
  std::string text_;
  bool ending_ = false;
};

}  // namespace

std::string Answer(int status, const std::string& body, const std::string& headers) {
  return fmt::format(
      "HTTP/1.1 {} Status\r\nContent-Type: application/json\r\n{}Content-Length: {}\r\n\r\n{}",
      status, headers, body.size(), body);
}

std::string ChunkedHead() {
  return "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
}

std::string Chunk(const std::string& text) {
  return fmt::format("{:x}\r\n{}\r\n", text.size(), text);
}

struct Server::Impl {
  ~Impl() {
    if (listener != nullptr) evconnlistener_free(listener);
    connections.clear();
    SSL_CTX_free(context);
  }

  static void Accept(evconnlistener* listener, evutil_socket_t fd, sockaddr*, int, void* self) {
    auto* impl = static_cast<Impl*>(self);
    event_base* base = evconnlistener_get_base(listener);
    const int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);  // as Go's net/http, the real server
    bufferevent* buffers = impl->context == nullptr ? bufferevent_socket_new(base, fd, kOptions)
                                                    : bufferevent_openssl_socket_new(
                                                          base, fd, SSL_new(impl->context),
                                                          BUFFEREVENT_SSL_ACCEPTING, kOptions);
    impl->connections.push_back(std::make_unique<Connection>(buffers, impl->handler));
  }

  Handler handler;
  SSL_CTX* context = nullptr;
  evconnlistener* listener = nullptr;
  std::vector<std::unique_ptr<Connection>> connections;
};

Server::Server(os::Loop& loop, Handler handler, const ServerTls& tls)
    : impl_(std::make_unique<Impl>()) {
  impl_->handler = std::move(handler);
  if (!tls.certificate.empty()) impl_->context = NewContext(tls);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  impl_->listener =
      evconnlistener_new_bind(loop.base(), &Impl::Accept, impl_.get(), LEV_OPT_CLOSE_ON_FREE, 64,
                              reinterpret_cast<sockaddr*>(&address), sizeof address);
}

Server::~Server() = default;

int Server::port() const {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  getsockname(evconnlistener_get_fd(impl_->listener), reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.sin_port);
}

size_t Server::connections() const {
  return impl_->connections.size();
}

void Server::HangUp() {
  for (const auto& connection : impl_->connections) connection->Close();
}

bool RunUntil(os::Loop& loop, Duration patience, const std::function<bool()>& done) {
  const Steady end = SystemClock().Now() + patience;
  while (!done() && SystemClock().Now() < end) {
    loop.RunOnce();
    std::this_thread::yield();
  }
  return done();
}

}  // namespace tessera::fake
