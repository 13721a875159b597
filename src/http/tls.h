// SPDX-License-Identifier: Apache-2.0
// TLS for connections to servers elsewhere (OpenSSL's, which stays behind this header). One thread:
// the loop's. OpenSSL is set up when the first context is made: who has no server pays nothing.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "http/remote.h"

struct bufferevent;
struct event_base;

namespace tessera::http {

// What an endpoint's connections have in common: its certificates, read once.
class Tls {
 public:
  // kInvalid where a certificate or a key cannot be read, or they do not belong together.
  static Result<Tls> Make(const Endpoint& endpoint);

  // The buffers of a new connection, which its owner connects and frees; nullptr without memory.
  bufferevent* NewBuffers(event_base* base) const;

 private:
  struct Impl;
  explicit Tls(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

// What stood in the way of a connection whose buffers NewBuffers made: the verdict on the server's
// certificate, or TLS's own words. Empty where it was neither, or there is no TLS.
std::string TlsTrouble(bufferevent* buffers);

}  // namespace tessera::http
