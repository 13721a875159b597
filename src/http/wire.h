// SPDX-License-Identifier: Apache-2.0
// The byte stream of one accepted connection, with or without TLS. No call blocks. Owned by its
// connection. One thread: the loop's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "http/tls.h"
#include "os/fd.h"

namespace tessera::http {

class Wire {
 public:
  // TLS may need to read while it sends, and to write while it receives.
  enum class Outcome : uint8_t { kMoved, kMustRead, kMustWrite, kEnded };
  struct Transfer {
    Outcome outcome = Outcome::kMoved;
    size_t bytes = 0;
  };

  // `socket` is non-blocking.
  explicit Wire(os::Fd socket, std::optional<TlsSession> tls = std::nullopt);
  Wire(Wire&&) noexcept = default;
  Wire& operator=(Wire&&) = delete;
  ~Wire();

  Transfer Receive(std::span<char> into);
  // Checks for received bytes without consuming them.
  Outcome Peek();
  // Sends as much as possible of the first text, then of the second.
  Transfer Send(std::string_view first, std::string_view then);
  void EndSending();
  // True after the TLS handshake, or without TLS.
  bool is_open() const { return !tls_ || tls_->is_open(); }
  // Decrypted bytes are buffered that Receive has not returned yet.
  bool holds_more() const { return tls_ && tls_->holds_more(); }
  int socket() const { return socket_.get(); }

 private:
  os::Fd socket_;
  std::optional<TlsSession> tls_;  // destroyed before the socket
};

}  // namespace tessera::http
