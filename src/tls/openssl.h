// SPDX-License-Identifier: Apache-2.0
// What the sources of libtessera-tls.so share: OpenSSL's objects with their owners, and its words.
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

// Before anything else: no file is read, and nothing is torn down at the end while another thread
// may still use it. The thread's list of errors is empty then.
inline void BeginCall() {
  OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_ATEXIT, nullptr);
  ERR_clear_error();
}

// The newest entry of OpenSSL's list of errors of this thread, which is empty then.
inline const char* TakeTrouble() {
  const char* words = ERR_reason_error_string(ERR_peek_last_error());
  ERR_clear_error();
  return words == nullptr ? "no reason given" : words;
}

inline void Say(TlsWords& words, const char* what, const char* trouble) {
  (void)std::snprintf(words.text, sizeof words.text, "%s: %s", what, trouble);
}

// Without it OpenSSL asks at the terminal for the password of a key that has one.
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
