// SPDX-License-Identifier: Apache-2.0
// The interface of libtessera-tls.so (src/tls) to the program that loads it. Only plain types cross
// it, because the two files share no C++ library. Both must be of one build. The loader checks that
// before it calls any function of the table.
#pragma once

#include <cstddef>
#include <cstdint>

struct bufferevent;
struct event_base;
struct ssl_ctx_st;  // OpenSSL's SSL_CTX
struct ssl_st;      // and SSL

namespace tessera::http {

struct TlsText {
  const char* data;
  size_t size;
};

// PEM texts. Each may be empty.
struct TlsSettings {
  bool serves = false;  // a listener's; only certificate and key count
  TlsText ca{};         // empty: the system's CAs
  TlsText certificate{};
  TlsText key{};
  // The name to verify in the server's certificate. nullptr: no verification.
  const char* name = nullptr;
  bool name_is_address = false;
};

// An error text, truncated.
struct TlsWords {
  char text[256];
};

// A PEM certificate or key, terminated by a 0.
struct TlsPem {
  char text[8192];
};

// A certificate to make. Times are unix seconds.
struct TlsWish {
  const char* name;   // its subject
  const char* names;  // "DNS:a,DNS:b" for a server; nullptr: a CA
  int64_t from;
  int64_t until;
  TlsText ca{};  // the signing CA; empty: self-signed
  TlsText ca_key{};
};

// A server's certificate and key, its CA, and the names that it must have.
struct TlsSet {
  TlsText ca{};  // the first certificate counts
  TlsText ca_key{};
  TlsText certificate{};
  TlsText key{};
  const TlsText* names = nullptr;
  size_t names_size = 0;
};
struct TlsSetFacts {
  int64_t from;
  int64_t until;
  int64_t ca_from;
  int64_t ca_until;
  bool key_fits;
  bool ca_key_fits;
  bool signed_by_ca;
  bool names_covered;
};

// Returned instead of a number of bytes.
enum TlsWait : int { kTlsEnded = 0, kTlsMustRead = -1, kTlsMustWrite = -2 };

struct TlsTable {
  // The first members in every build, so that any build can compare them.
  const char* version;
  const char* commit;

  // nullptr and an error if a certificate or key is unreadable, or they do not match.
  ssl_ctx_st* (*make)(const TlsSettings& settings, TlsWords& words);
  void (*free)(ssl_ctx_st* context);
  // See Tls::NewBuffers and Tls::Trouble.
  bufferevent* (*new_buffers)(ssl_ctx_st* context, event_base* base);
  void (*trouble)(bufferevent* buffers, TlsWords& words);
  // See Tls::Accept and TlsSession.
  ssl_st* (*accept)(ssl_ctx_st* context, int socket);
  void (*end)(ssl_st* session);
  int (*receive)(ssl_st* session, char* into, size_t size);
  int (*look)(ssl_st* session);
  int (*send)(ssl_st* session, const TlsText& bytes);
  void (*end_sending)(ssl_st* session);
  bool (*holds_more)(ssl_st* session);
  bool (*is_open)(ssl_st* session);
  // Makes a certificate with a new key. False and an error on failure. Any thread.
  bool (*issue)(const TlsWish& wish, TlsPem& certificate, TlsPem& key, TlsWords& words);
  // False and an error if a certificate is unreadable. Any thread.
  bool (*look_at)(const TlsSet& set, TlsSetFacts& facts, TlsWords& words);
};

// The library's only exported function. It returns the table and has no preconditions.
inline constexpr char kTlsFunction[] = "tessera_tls";
using TlsFunction = const TlsTable*();

}  // namespace tessera::http
