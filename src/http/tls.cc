// SPDX-License-Identifier: Apache-2.0
#include "http/tls.h"

#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <vector>

#include "os/address.h"

namespace tessera::http {
namespace {

struct Free {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
template <class T>
using Owned = std::unique_ptr<T, Free>;

// The newest entry of OpenSSL's list of errors of this thread, which is empty then.
std::string TakeTrouble() {
  const char* words = ERR_reason_error_string(ERR_peek_last_error());
  ERR_clear_error();
  return words == nullptr ? "no reason given" : words;
}

// Without it OpenSSL asks at the terminal for the password of a key that has one.
int NoPassword(char*, int, int, void*) {
  return 0;
}

Owned<BIO> Reader(const std::string& text) {
  return Owned<BIO>(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

// Every certificate in a PEM text; at least one.
Result<std::vector<Owned<X509>>> ReadCertificates(const std::string& text, std::string_view what) {
  std::vector<Owned<X509>> found;
  const Owned<BIO> reader = Reader(text);
  while (X509* one = PEM_read_bio_X509(reader.get(), nullptr, NoPassword, nullptr)) {
    found.emplace_back(one);
  }
  const bool at_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  const std::string trouble = TakeTrouble();
  if (found.empty() || !at_end) {
    return Fail(Reason::kInvalid, "{} cannot be read: {}", what, trouble);
  }
  return found;
}

Status UseAuthority(SSL_CTX* context, const std::string& text) {
  if (text.empty()) {
    SSL_CTX_set_default_verify_paths(context);
    return {};
  }
  X509_STORE* store = SSL_CTX_get_cert_store(context);
  const auto authorities = TRY(ReadCertificates(text, "the CA's certificate"));
  for (const auto& one : authorities) X509_STORE_add_cert(store, one.get());
  // Whoever is named there is trusted, also where another one has signed it.
  X509_STORE_set_flags(store, X509_V_FLAG_PARTIAL_CHAIN);
  return {};
}

Status UseClient(SSL_CTX* context, const Endpoint& endpoint) {
  if (endpoint.certificate.empty()) return {};
  const auto chain = TRY(ReadCertificates(endpoint.certificate, "the client's certificate"));
  bool used = SSL_CTX_use_certificate(context, chain[0].get()) == 1;
  for (size_t i = 1; i < chain.size(); ++i) {
    used = used && SSL_CTX_add1_chain_cert(context, chain[i].get()) == 1;
  }
  if (!used) return Fail(Reason::kInvalid, "the client's certificate: {}", TakeTrouble());
  const Owned<BIO> reader = Reader(endpoint.key);
  const Owned<EVP_PKEY> key(PEM_read_bio_PrivateKey(reader.get(), nullptr, NoPassword, nullptr));
  if (!key) return Fail(Reason::kInvalid, "the client's key cannot be read: {}", TakeTrouble());
  if (SSL_CTX_use_PrivateKey(context, key.get()) == 1) return {};
  return Fail(Reason::kInvalid, "the client's key is not that of its certificate: {}",
              TakeTrouble());
}

}  // namespace

struct Tls::Impl {
  Owned<SSL_CTX> context;
  std::string name;  // that certificates are checked for; empty: they are not
};

Result<Tls> Tls::Make(const Endpoint& endpoint) {
  // No file is read, and nothing is torn down at the end while another thread may still use it.
  OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_ATEXIT, nullptr);
  ERR_clear_error();
  auto impl = std::make_shared<Impl>();
  impl->context.reset(SSL_CTX_new(TLS_client_method()));
  SSL_CTX* context = impl->context.get();
  if (context == nullptr) return Fail(Reason::kInternal, "TLS: {}", TakeTrouble());
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);  // an idle connection is a small one
  if (endpoint.verify) {
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
    TRY(UseAuthority(context, endpoint.ca));
    impl->name = endpoint.server_name.empty() ? endpoint.host : endpoint.server_name;
  }
  TRY(UseClient(context, endpoint));
  return Tls(std::move(impl));
}

bufferevent* Tls::NewBuffers(event_base* base) const {
  SSL* ssl = SSL_new(impl_->context.get());
  if (ssl == nullptr) return nullptr;
  if (const std::string& name = impl_->name; os::IsAddress(name)) {
    X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), name.c_str());
  } else if (!name.empty()) {
    SSL_set_hostflags(ssl,
                      X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
    SSL_set1_host(ssl, name.c_str());
    SSL_set_tlsext_host_name(ssl, name.c_str());
  }
  return bufferevent_openssl_socket_new(base, -1, ssl, BUFFEREVENT_SSL_CONNECTING,
                                        BEV_OPT_CLOSE_ON_FREE | BEV_OPT_DEFER_CALLBACKS);
}

std::string TlsTrouble(bufferevent* buffers) {
  SSL* ssl = bufferevent_openssl_get_ssl(buffers);
  if (ssl == nullptr) return "";
  const int64_t verdict = SSL_get_verify_result(ssl);
  if (SSL_get_verify_mode(ssl) != SSL_VERIFY_NONE && verdict != X509_V_OK) {
    return fmt::format("its certificate is refused: {}", X509_verify_cert_error_string(verdict));
  }
  while (const unsigned long code = bufferevent_get_openssl_error(buffers)) {
    if (const char* words = ERR_reason_error_string(code)) return fmt::format("TLS: {}", words);
  }
  return "";
}

}  // namespace tessera::http
