// SPDX-License-Identifier: Apache-2.0
// Makes and checks certificates for our servers and their CA: ECDSA on P-256.
#include <cstdint>
#include <cstring>
#include <ctime>

#include "tls/openssl.h"

namespace tessera::http {
namespace {

constexpr int kSerialBits = 127;

bool Extend(X509* certificate, int nid, const char* value) {
  const Owned<X509_EXTENSION> extension(X509V3_EXT_conf_nid(nullptr, nullptr, nid, value));
  return extension && X509_add_ext(certificate, extension.get(), -1) == 1;
}

bool SetSerial(X509* certificate) {
  const Owned<BIGNUM> number(BN_new());
  return number && BN_rand(number.get(), kSerialBits, BN_RAND_TOP_ANY, BN_RAND_BOTTOM_ANY) == 1 &&
         BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate)) != nullptr;
}

bool SetName(X509* certificate, const char* name) {
  return X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_UTF8,
                                    reinterpret_cast<const unsigned char*>(name), -1, -1, 0) == 1;
}

bool Write(BIO* from, TlsPem& into) {
  char* data = nullptr;
  const int64_t size = BIO_get_mem_data(from, &data);
  if (size <= 0 || static_cast<size_t>(size) >= sizeof into.text) return false;
  std::memcpy(into.text, data, static_cast<size_t>(size));
  into.text[size] = 0;
  return true;
}

Owned<X509> ReadCertificate(const TlsText& text) {
  return Owned<X509>(PEM_read_bio_X509(Reader(text).get(), nullptr, NoPassword, nullptr));
}

Owned<EVP_PKEY> ReadKey(const TlsText& text) {
  return Owned<EVP_PKEY>(PEM_read_bio_PrivateKey(Reader(text).get(), nullptr, NoPassword, nullptr));
}

// The certificate without issuer and signature.
Owned<X509> Unsigned(const TlsWish& wish, EVP_PKEY* key) {
  Owned<X509> made(X509_new());
  const bool authority = wish.names == nullptr;
  const bool good =
      made && X509_set_version(made.get(), X509_VERSION_3) == 1 && SetSerial(made.get()) &&
      ASN1_TIME_set(X509_getm_notBefore(made.get()), static_cast<time_t>(wish.from)) != nullptr &&
      ASN1_TIME_set(X509_getm_notAfter(made.get()), static_cast<time_t>(wish.until)) != nullptr &&
      X509_set_pubkey(made.get(), key) == 1 && SetName(made.get(), wish.name) &&
      Extend(made.get(), NID_basic_constraints,
             authority ? "critical,CA:TRUE" : "critical,CA:FALSE") &&
      Extend(made.get(), NID_key_usage,
             authority ? "critical,keyCertSign,cRLSign" : "critical,digitalSignature") &&
      (authority || (Extend(made.get(), NID_ext_key_usage, "serverAuth") &&
                     Extend(made.get(), NID_subject_alt_name, wish.names)));
  return good ? std::move(made) : nullptr;
}

bool WriteBoth(X509* made, EVP_PKEY* key, TlsPem& certificate, TlsPem& key_text) {
  const Owned<BIO> first(BIO_new(BIO_s_mem()));
  const Owned<BIO> second(BIO_new(BIO_s_mem()));
  return first && second && PEM_write_bio_X509(first.get(), made) == 1 &&
         PEM_write_bio_PrivateKey(second.get(), key, nullptr, nullptr, 0, nullptr, nullptr) == 1 &&
         Write(first.get(), certificate) && Write(second.get(), key_text);
}

// Unix seconds, or 0 if the time is invalid.
int64_t SecondsOf(const ASN1_TIME* time) {
  std::tm parts{};
  return ASN1_TIME_to_tm(time, &parts) == 1 ? static_cast<int64_t>(timegm(&parts)) : 0;
}

bool Names(X509* certificate, const TlsSet& set) {
  for (size_t i = 0; i < set.names_size; ++i) {
    const TlsText& name = set.names[i];
    if (X509_check_host(certificate, name.data, name.size, X509_CHECK_FLAG_NEVER_CHECK_SUBJECT,
                        nullptr) != 1) {
      return false;
    }
  }
  return true;
}

}  // namespace

bool Issue(const TlsWish& wish, TlsPem& certificate, TlsPem& key_text, TlsWords& words) {
  BeginCall();
  const Owned<EVP_PKEY> key(EVP_EC_gen("P-256"));
  const Owned<X509> made = key ? Unsigned(wish, key.get()) : nullptr;
  bool good = made != nullptr;
  if (good && wish.ca.size == 0) {
    good = X509_set_issuer_name(made.get(), X509_get_subject_name(made.get())) == 1 &&
           X509_sign(made.get(), key.get(), EVP_sha256()) != 0;
  } else if (good) {
    const Owned<X509> issuer = ReadCertificate(wish.ca);
    const Owned<EVP_PKEY> signer = ReadKey(wish.ca_key);
    good = issuer && signer && X509_check_private_key(issuer.get(), signer.get()) == 1 &&
           X509_set_issuer_name(made.get(), X509_get_subject_name(issuer.get())) == 1 &&
           X509_sign(made.get(), signer.get(), EVP_sha256()) != 0;
  }
  good = good && WriteBoth(made.get(), key.get(), certificate, key_text);
  if (!good) Say(words, "a certificate cannot be made", TakeTrouble());
  ERR_clear_error();
  return good;
}

bool LookAt(const TlsSet& set, TlsSetFacts& facts, TlsWords& words) {
  BeginCall();
  const Owned<X509> ca = ReadCertificate(set.ca);
  const Owned<X509> made = ca ? ReadCertificate(set.certificate) : nullptr;
  if (!made) {
    Say(words, ca ? "the certificate cannot be read" : "the CA's certificate cannot be read",
        TakeTrouble());
    return false;
  }
  const Owned<EVP_PKEY> key = ReadKey(set.key);
  const Owned<EVP_PKEY> ca_key = ReadKey(set.ca_key);
  facts.from = SecondsOf(X509_get0_notBefore(made.get()));
  facts.until = SecondsOf(X509_get0_notAfter(made.get()));
  facts.ca_from = SecondsOf(X509_get0_notBefore(ca.get()));
  facts.ca_until = SecondsOf(X509_get0_notAfter(ca.get()));
  facts.key_fits = key && X509_check_private_key(made.get(), key.get()) == 1;
  facts.ca_key_fits = ca_key && X509_check_private_key(ca.get(), ca_key.get()) == 1;
  facts.signed_by_ca = X509_verify(made.get(), X509_get0_pubkey(ca.get())) == 1;
  facts.names_covered = Names(made.get(), set);
  ERR_clear_error();
  return true;
}

}  // namespace tessera::http
