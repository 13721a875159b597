// SPDX-License-Identifier: Apache-2.0
// Shared by the sources of libtessera-tls.so: owners for OpenSSL's objects, and its error texts.
// Any thread.
#pragma once

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <cstdio>
#include <memory>

#include "http/tls_table.h"

namespace tessera::http {

struct Free {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(X509_EXTENSION* extension) const { X509_EXTENSION_free(extension); }
  void operator()(BIGNUM* number) const { BN_free(number); }
  void operator()(STACK_OF(X509) * all) const { sk_X509_pop_free(all, X509_free); }
};
template <class T>
using Owned = std::unique_ptr<T, Free>;

// Starts every call. OpenSSL then reads no configuration file, and registers no exit handler that
// could tear it down under another thread. Clears the thread's error list.
inline void BeginCall() {
  OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_ATEXIT, nullptr);
  ERR_clear_error();
}

// Takes the newest error of this thread and clears the list.
inline const char* TakeTrouble() {
  const char* words = ERR_reason_error_string(ERR_peek_last_error());
  ERR_clear_error();
  return words == nullptr ? "no reason given" : words;
}

inline void Say(TlsWords& words, const char* what, const char* trouble) {
  (void)std::snprintf(words.text, sizeof words.text, "%s: %s", what, trouble);
}

// Refuses a password. By default OpenSSL asks at the terminal for that of an encrypted key.
inline int NoPassword(char*, int, int, void*) {
  return 0;
}

inline Owned<BIO> Reader(const TlsText& text) {
  return Owned<BIO>(BIO_new_mem_buf(text.data, static_cast<int>(text.size)));
}

// certificates.cc
bool Issue(const TlsWish& wish, TlsPem& certificate, TlsPem& key, TlsWords& words);
bool LookAt(const TlsSet& set, TlsSetFacts& facts, TlsWords& words);

}  // namespace tessera::http
