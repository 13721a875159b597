// SPDX-License-Identifier: Apache-2.0
#include "api/certificates.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include <memory>

namespace tessera::fake {
namespace {

struct Free {
  void operator()(X509* x) const { X509_free(x); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(BIO* bio) const { BIO_free(bio); }
};
template <class T>
using Owned = std::unique_ptr<T, Free>;

constexpr long kDay = 86'400;

std::string Text(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return {data, static_cast<size_t>(size)};
}

Certificate Write(X509* certificate, EVP_PKEY* key) {
  const Owned<BIO> first(BIO_new(BIO_s_mem()));
  const Owned<BIO> second(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509(first.get(), certificate);
  PEM_write_bio_PrivateKey(second.get(), key, nullptr, nullptr, 0, nullptr, nullptr);
  return {Text(first.get()), Text(second.get())};
}

void Extend(X509* certificate, int nid, const std::string& value) {
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, nid, value.c_str());
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

// A certificate without issuer and signature. `from` and `until`: seconds from now.
Owned<X509> Begin(const std::string& name, EVP_PKEY* key, long from, long until) {
  Owned<X509> certificate(X509_new());
  X509_set_version(certificate.get(), X509_VERSION_3);
  uint32_t serial = 0;
  RAND_bytes(reinterpret_cast<unsigned char*>(&serial), sizeof serial);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), serial >> 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), from);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), until);
  X509_set_pubkey(certificate.get(), key);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate.get()), "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  return certificate;
}

}  // namespace

Certificate MakeAuthority(const std::string& name) {
  const Owned<EVP_PKEY> key(EVP_EC_gen("P-256"));
  const Owned<X509> made = Begin(name, key.get(), -kDay, kDay);
  Extend(made.get(), NID_basic_constraints, "critical,CA:TRUE");
  X509_set_issuer_name(made.get(), X509_get_subject_name(made.get()));
  X509_sign(made.get(), key.get(), EVP_sha256());
  return Write(made.get(), key.get());
}

Certificate Issue(const Certificate& authority, const Wanted& wanted) {
  const Owned<BIO> first(BIO_new_mem_buf(authority.certificate.c_str(), -1));
  const Owned<X509> issuer(PEM_read_bio_X509(first.get(), nullptr, nullptr, nullptr));
  const Owned<BIO> second(BIO_new_mem_buf(authority.key.c_str(), -1));
  const Owned<EVP_PKEY> signer(PEM_read_bio_PrivateKey(second.get(), nullptr, nullptr, nullptr));
  const Owned<EVP_PKEY> key(EVP_EC_gen("P-256"));
  const Owned<X509> made = Begin("tessera", key.get(), wanted.expired ? -2 * kDay : -kDay,
                                 wanted.expired ? -kDay : kDay);
  if (!wanted.names.empty()) Extend(made.get(), NID_subject_alt_name, wanted.names);
  X509_set_issuer_name(made.get(), X509_get_subject_name(issuer.get()));
  X509_sign(made.get(), signer.get(), EVP_sha256());
  return Write(made.get(), key.get());
}

}  // namespace tessera::fake
