// SPDX-License-Identifier: Apache-2.0
// The bytes of one connection that came in, over TLS or without; nothing here waits. Owned by its
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
  // Of the two that must wait, TLS may have either while it sends or receives.
  enum class Outcome : uint8_t { kMoved, kMustRead, kMustWrite, kEnded };
  struct Transfer {
    Outcome outcome = Outcome::kMoved;
    size_t bytes = 0;
  };

  // `socket` does not block.
  explicit Wire(os::Fd socket, std::optional<TlsSession> tls = std::nullopt);
  Wire(Wire&&) noexcept = default;
  Wire& operator=(Wire&&) = delete;
  ~Wire();

  Transfer Receive(std::span<char> into);
  // Whether something could be received, which stays there.
  Outcome Peek();
  // As much as goes of one and then of the other.
  Transfer Send(std::string_view first, std::string_view then);
  void EndSending();
  // Nothing of TLS's handshake is to come.
  bool is_open() const { return !tls_ || tls_->is_open(); }
  // Bytes have been taken from the socket that Receive has not handed over.
  bool holds_more() const { return tls_ && tls_->holds_more(); }
  int socket() const { return socket_.get(); }

 private:
  os::Fd socket_;
  std::optional<TlsSession> tls_;  // ends before the socket
};

}  // namespace tessera::http
