// SPDX-License-Identifier: Apache-2.0
// TLS for connections to servers elsewhere. It is OpenSSL's, which is in a file of its own,
// libtessera-tls.so (src/tls), beside the program or where it is installed with it; that is loaded
// when the first context is made and stays: who has no server pays nothing. One thread: the loop's.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "http/remote.h"

struct bufferevent;
struct event_base;

namespace tessera::http {

// What an endpoint's connections have in common: its certificates, read once. Copies are the same.
class Tls {
 public:
  // Where the file belongs to a program of this path: beside it, or as `cmake --install` puts it.
  static std::vector<std::string> PlacesFor(std::string_view program);

  // kInvalid where a certificate or a key cannot be read, they do not belong together, or the file
  // of TLS is no good; kNotFound where that is at none of the places, as it may be the next time.
  static Result<Tls> Make(const Endpoint& endpoint);
  static Result<Tls> Make(const Endpoint& endpoint, const std::vector<std::string>& places);

  // The buffers of a new connection, which its owner connects and frees; nullptr without memory.
  bufferevent* NewBuffers(event_base* base) const;
  // What stood in the way of a connection whose buffers NewBuffers made: the verdict on the
  // server's certificate, or TLS's own words. Empty where it was neither.
  std::string Trouble(bufferevent* buffers) const;

 private:
  struct Impl;
  explicit Tls(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

}  // namespace tessera::http
