// SPDX-License-Identifier: Apache-2.0
// What libtessera-tls.so (src/tls) has for the program that loads it. Plain types alone cross here:
// each of the two files has a C++ library of its own linked in. They belong to one build, by which
// the loader goes before it calls anything of the table.
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

// PEM texts, each of which may be empty.
struct TlsSettings {
  bool serves = false;  // a listener's, where the certificate and the key alone count
  TlsText ca{};         // empty: the system's
  TlsText certificate{};
  TlsText key{};
  const char* name = nullptr;  // that the server's certificate is checked for; nullptr: it is not
  bool name_is_address = false;
};

// What is in the way, cut to its length.
struct TlsWords {
  char text[256];
};

// A certificate or a key in PEM, which ends with a 0.
struct TlsPem {
  char text[8192];
};

// A certificate that is to be made. Times are unix seconds.
struct TlsWish {
  const char* name;   // whose it is
  const char* names;  // "DNS:a,DNS:b", of a server; nullptr: it vouches for others
  int64_t from;
  int64_t until;
  TlsText ca{};  // who vouches for it; empty: it does so itself
  TlsText ca_key{};
};

// A server's certificate with its key, who vouches for it, and the names that it is to have.
struct TlsSet {
  TlsText ca{};  // of several the first one
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

// In place of a number of bytes.
enum TlsWait : int { kTlsEnded = 0, kTlsMustRead = -1, kTlsMustWrite = -2 };

struct TlsTable {
  // First in every build.
  const char* version;
  const char* commit;

  // nullptr, and why, where a certificate or a key cannot be read, or they do not belong together.
  ssl_ctx_st* (*make)(const TlsSettings& settings, TlsWords& words);
  void (*free)(ssl_ctx_st* context);
  // As of Tls::NewBuffers and Tls::Trouble.
  bufferevent* (*new_buffers)(ssl_ctx_st* context, event_base* base);
  void (*trouble)(bufferevent* buffers, TlsWords& words);
  // As of Tls::Accept and TlsSession.
  ssl_st* (*accept)(ssl_ctx_st* context, int socket);
  void (*end)(ssl_st* session);
  int (*receive)(ssl_st* session, char* into, size_t size);
  int (*look)(ssl_st* session);
  int (*send)(ssl_st* session, const TlsText& bytes);
  void (*end_sending)(ssl_st* session);
  bool (*holds_more)(ssl_st* session);
  bool (*is_open)(ssl_st* session);
  // With a new key. False, and why, where it cannot be made. Any thread.
  bool (*issue)(const TlsWish& wish, TlsPem& certificate, TlsPem& key, TlsWords& words);
  // False, and why, where a certificate cannot be read. Any thread.
  bool (*look_at)(const TlsSet& set, TlsSetFacts& facts, TlsWords& words);
};

// The one function that the file exports gives it. Called on no condition.
inline constexpr char kTlsFunction[] = "tessera_tls";
using TlsFunction = const TlsTable*();

}  // namespace tessera::http
