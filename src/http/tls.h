// SPDX-License-Identifier: Apache-2.0
// TLS for outgoing and accepted connections. OpenSSL is in its own library, libtessera-tls.so
// (src/tls), next to the program or where it is installed. The library is loaded with the first
// context and stays. A program without TLS does not pay for it.
// One thread: the loop's. The process must ignore SIGPIPE.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "http/listen.h"
#include "http/remote.h"

struct bufferevent;
struct event_base;
struct ssl_st;

namespace tessera::http {

struct TlsSettings;
struct TlsTable;

// TLS on one accepted connection, starting with the handshake. The caller owns the socket and keeps
// it open.
class TlsSession {
 public:
  TlsSession(const TlsTable& table, ssl_st* session) : table_(&table), session_(session) {}
  TlsSession(TlsSession&& other) noexcept;
  TlsSession& operator=(TlsSession&&) = delete;
  ~TlsSession();

  // The number of bytes, or a TlsWait (tls_table.h).
  int Receive(std::span<char> into);
  int Peek();  // like Receive of one byte, which stays unread
  int Send(std::string_view bytes);
  void EndSending();
  bool holds_more() const;  // decrypted bytes for Receive
  bool is_open() const;     // the handshake is done

 private:
  const TlsTable* table_;
  ssl_st* session_;
};

// The TLS context of an endpoint or a listener, with certificates read once. Copies share it.
class Tls {
 public:
  // The library's possible places for a program at this path: next to it, or as `cmake --install`
  // puts it.
  static std::vector<std::string> PlacesFor(std::string_view program);

  // The table of this program's library, or an error as from Make.
  static Result<const TlsTable*> Table();

  // Gives kInvalid if a certificate or key is unreadable, they do not match, or the library is bad.
  // Gives kNotFound if the library is at none of the places; a retry may find it.
  static Result<Tls> Make(const Endpoint& endpoint);
  static Result<Tls> Make(const Endpoint& endpoint, const std::vector<std::string>& places);

  // For a listener.
  static Result<Tls> Make(const Identity& identity);

  // A session on an accepted connection. Nothing if out of memory.
  std::optional<TlsSession> Accept(int socket) const;
  // Buffers for a new connection, which the caller connects and frees. nullptr if out of memory.
  bufferevent* NewBuffers(event_base* base) const;
  // The reason why a connection of NewBuffers failed: the verdict on the server's certificate, or
  // TLS's own error. Empty for other reasons.
  std::string Trouble(bufferevent* buffers) const;

 private:
  struct Impl;
  static Result<Tls> MakeOf(const TlsTable& table, const TlsSettings& settings);
  explicit Tls(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

}  // namespace tessera::http
