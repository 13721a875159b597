// SPDX-License-Identifier: Apache-2.0
// libtessera-tls.so: OpenSSL, and libevent's TLS connections, for programs that are TLS clients or
// servers. The program supplies libevent's core. Only headers of the C++ library are used, so that
// it is not linked. Memory errors are OpenSSL's to report.
#include <event2/bufferevent_ssl.h>
#include <event2/thread.h>

#include "http/tls_table.h"
#include "tls/openssl.h"
#include "version.h"

namespace tessera::http {
namespace {

using Certificates = Owned<STACK_OF(X509)>;

// All certificates in a PEM text, at least one. nullptr on failure, with an error that begins with
// `what`.
Certificates ReadCertificates(const TlsText& text, const char* what, TlsWords& words) {
  Certificates found(sk_X509_new_null());
  const Owned<BIO> reader = Reader(text);
  while (X509* one = PEM_read_bio_X509(reader.get(), nullptr, NoPassword, nullptr)) {
    if (sk_X509_push(found.get(), one) == 0) X509_free(one);
  }
  const bool at_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  const char* trouble = TakeTrouble();
  if (sk_X509_num(found.get()) > 0 && at_end) return found;
  Say(words, what, trouble);
  return nullptr;
}

bool UseAuthority(SSL_CTX* context, const TlsText& text, TlsWords& words) {
  if (text.size == 0) {
    SSL_CTX_set_default_verify_paths(context);
    return true;
  }
  const auto authorities = ReadCertificates(text, "the CA's certificate cannot be read", words);
  if (!authorities) return false;
  X509_STORE* store = SSL_CTX_get_cert_store(context);
  for (int i = 0; i < sk_X509_num(authorities.get()); ++i) {
    X509_STORE_add_cert(store, sk_X509_value(authorities.get(), i));
  }
  // Any certificate in the list is trusted, even if another CA has signed it.
  X509_STORE_set_flags(store, X509_V_FLAG_PARTIAL_CHAIN);
  return true;
}

// Each connection inherits the context's settings.
void UseName(SSL_CTX* context, const TlsSettings& settings) {
  X509_VERIFY_PARAM* wanted = SSL_CTX_get0_param(context);
  if (settings.name_is_address) {
    X509_VERIFY_PARAM_set1_ip_asc(wanted, settings.name);
    return;
  }
  X509_VERIFY_PARAM_set_hostflags(
      wanted, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
  X509_VERIFY_PARAM_set1_host(wanted, settings.name, 0);
}

// Error texts about a certificate and its key, by their owner.
struct Sayings {
  const char* certificate_unread;
  const char* certificate;
  const char* key_unread;
  const char* key_of_another;
};
constexpr Sayings kOfClient = {"the client's certificate cannot be read",
                               "the client's certificate", "the client's key cannot be read",
                               "the client's key does not match its certificate"};
constexpr Sayings kOfServer = {"the server's certificate cannot be read",
                               "the server's certificate", "the server's key cannot be read",
                               "the server's key does not match its certificate"};

bool UsePair(SSL_CTX* context, const TlsSettings& settings, TlsWords& words) {
  const Sayings& say = settings.serves ? kOfServer : kOfClient;
  const auto chain = ReadCertificates(settings.certificate, say.certificate_unread, words);
  if (!chain) return false;
  bool used = SSL_CTX_use_certificate(context, sk_X509_value(chain.get(), 0)) == 1;
  for (int i = 1; i < sk_X509_num(chain.get()); ++i) {
    used = used && SSL_CTX_add1_chain_cert(context, sk_X509_value(chain.get(), i)) == 1;
  }
  const char* what = say.certificate;
  if (used) {
    const Owned<BIO> reader = Reader(settings.key);
    const Owned<EVP_PKEY> key(PEM_read_bio_PrivateKey(reader.get(), nullptr, NoPassword, nullptr));
    what = key ? say.key_of_another : say.key_unread;
    used = key && SSL_CTX_use_PrivateKey(context, key.get()) == 1;
  }
  if (!used) Say(words, what, TakeTrouble());
  return used;
}

// Keeps no session of a closed connection, so a returning peer repeats the handshake. A retried
// write may pass another buffer.
void Serve(SSL_CTX* context) {
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_options(context, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_set_num_tickets(context, 0);
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
}

SSL_CTX* Make(const TlsSettings& settings, TlsWords& words) {
  BeginCall();
  Owned<SSL_CTX> context(SSL_CTX_new(settings.serves ? TLS_server_method() : TLS_client_method()));
  if (!context) {
    Say(words, "TLS", TakeTrouble());
    return nullptr;
  }
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_mode(context.get(), SSL_MODE_RELEASE_BUFFERS);  // keeps idle connections small
  if (settings.serves) Serve(context.get());
  if (settings.name != nullptr) {
    SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
    if (!UseAuthority(context.get(), settings.ca, words)) return nullptr;
    UseName(context.get(), settings);
  }
  const bool anonymous = !settings.serves && settings.certificate.size == 0;
  return anonymous || UsePair(context.get(), settings, words) ? context.release() : nullptr;
}

bufferevent* NewBuffers(SSL_CTX* context, event_base* base) {
  SSL* ssl = SSL_new(context);
  if (ssl == nullptr) return nullptr;
  if (char* name = X509_VERIFY_PARAM_get0_host(SSL_get0_param(ssl), 0)) {
    SSL_set_tlsext_host_name(ssl, name);
  }
  return bufferevent_openssl_socket_new(base, -1, ssl, BUFFEREVENT_SSL_CONNECTING,
                                        BEV_OPT_CLOSE_ON_FREE | BEV_OPT_DEFER_CALLBACKS);
}

void Trouble(bufferevent* buffers, TlsWords& words) {
  SSL* ssl = bufferevent_openssl_get_ssl(buffers);
  if (ssl == nullptr) return;
  const int64_t verdict = SSL_get_verify_result(ssl);
  if (SSL_get_verify_mode(ssl) != SSL_VERIFY_NONE && verdict != X509_V_OK) {
    return Say(words, "its certificate is refused", X509_verify_cert_error_string(verdict));
  }
  while (const unsigned long code = bufferevent_get_openssl_error(buffers)) {
    if (const char* reason = ERR_reason_error_string(code)) return Say(words, "TLS", reason);
  }
}

SSL* Accept(SSL_CTX* context, int socket) {
  SSL* ssl = SSL_new(context);
  if (ssl == nullptr || SSL_set_fd(ssl, socket) == 1) {
    if (ssl != nullptr) SSL_set_accept_state(ssl);
    return ssl;
  }
  SSL_free(ssl);
  return nullptr;
}

// OpenSSL's error list belongs to the thread and may have errors of other connections, so it is
// cleared first.
template <class Call>
int Moved(SSL* ssl, const Call& call) {
  ERR_clear_error();
  size_t bytes = 0;
  if (call(&bytes) == 1) return static_cast<int>(bytes);
  const int error = SSL_get_error(ssl, 0);
  ERR_clear_error();
  if (error == SSL_ERROR_WANT_READ) return kTlsMustRead;
  return error == SSL_ERROR_WANT_WRITE ? kTlsMustWrite : kTlsEnded;
}

int Receive(SSL* ssl, char* into, size_t size) {
  return Moved(ssl, [&](size_t* bytes) { return SSL_read_ex(ssl, into, size, bytes); });
}

int Look(SSL* ssl) {
  char first = 0;
  return Moved(ssl, [&](size_t* bytes) { return SSL_peek_ex(ssl, &first, 1, bytes); });
}

int Send(SSL* ssl, const TlsText& text) {
  return Moved(ssl, [&](size_t* bytes) { return SSL_write_ex(ssl, text.data, text.size, bytes); });
}

// Does not wait for the peer's close_notify.
void EndSending(SSL* ssl) {
  ERR_clear_error();
  (void)SSL_shutdown(ssl);
  ERR_clear_error();
}

bool HoldsMore(SSL* ssl) {
  return SSL_pending(ssl) > 0;
}

bool IsOpen(SSL* ssl) {
  return SSL_is_init_finished(ssl) == 1;
}

const TlsTable kTable = {.version = TESSERA_VERSION,
                         .commit = TESSERA_COMMIT,
                         .make = &Make,
                         .free = &SSL_CTX_free,
                         .new_buffers = &NewBuffers,
                         .trouble = &Trouble,
                         .accept = &Accept,
                         .end = &SSL_free,
                         .receive = &Receive,
                         .look = &Look,
                         .send = &Send,
                         .end_sending = &EndSending,
                         .holds_more = &HoldsMore,
                         .is_open = &IsOpen,
                         .issue = &Issue,
                         .look_at = &LookAt};

}  // namespace
}  // namespace tessera::http

extern "C" {
// libevent's static archive expects this symbol in the same file, not in the program. Only
// connections with locks use it; ours have one thread, so it stays empty.
// NOLINTBEGIN(readability-identifier-naming): libevent's name for it
extern __attribute__((visibility("hidden"))) evthread_lock_callbacks evthread_lock_fns_;
evthread_lock_callbacks evthread_lock_fns_{};
// NOLINTEND(readability-identifier-naming)
}

extern "C" __attribute__((visibility("default"))) const tessera::http::TlsTable* tessera_tls() {
  return &tessera::http::kTable;
}
