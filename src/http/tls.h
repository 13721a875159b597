// SPDX-License-Identifier: Apache-2.0
// TLS for connections to servers elsewhere, and for those that come in. It is OpenSSL's, which is
// in a file of its own, libtessera-tls.so (src/tls), beside the program or where it is installed
// with it; that is loaded when the first context is made and stays: who has none pays nothing. One
// thread: the loop's. SIGPIPE is ignored by the process.
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

// TLS on one connection that came in, whose first bytes are the handshake's. Its owner has the
// socket, and keeps it open.
class TlsSession {
 public:
  TlsSession(const TlsTable& table, ssl_st* session) : table_(&table), session_(session) {}
  TlsSession(TlsSession&& other) noexcept;
  TlsSession& operator=(TlsSession&&) = delete;
  ~TlsSession();

  // Bytes, or what of TlsWait (tls_table.h) is in the way.
  int Receive(std::span<char> into);
  int Peek();  // as Receive of one byte, which stays there
  int Send(std::string_view bytes);
  void EndSending();
  bool holds_more() const;  // for Receive
  bool is_open() const;     // after the handshake

 private:
  const TlsTable* table_;
  ssl_st* session_;
};

// What the connections to an endpoint, or to a listener, have in common: certificates, read once.
// Copies are the same.
class Tls {
 public:
  // Where the file belongs to a program of this path: beside it, or as `cmake --install` puts it.
  static std::vector<std::string> PlacesFor(std::string_view program);

  // What is in it, of where it belongs to this program; an error as of Make.
  static Result<const TlsTable*> Table();

  // kInvalid where a certificate or a key cannot be read, they do not belong together, or the file
  // of TLS is no good; kNotFound where that is at none of the places, as it may be the next time.
  static Result<Tls> Make(const Endpoint& endpoint);
  static Result<Tls> Make(const Endpoint& endpoint, const std::vector<std::string>& places);

  // For a listener.
  static Result<Tls> Make(const Identity& identity);

  // Of a connection that came in; nothing without memory.
  std::optional<TlsSession> Accept(int socket) const;
  // The buffers of a new connection, which its owner connects and frees; nullptr without memory.
  bufferevent* NewBuffers(event_base* base) const;
  // What stood in the way of a connection whose buffers NewBuffers made: the verdict on the
  // server's certificate, or TLS's own words. Empty where it was neither.
  std::string Trouble(bufferevent* buffers) const;

 private:
  struct Impl;
  static Result<Tls> MakeOf(const TlsTable& table, const TlsSettings& settings);
  explicit Tls(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

}  // namespace tessera::http
