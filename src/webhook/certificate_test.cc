// SPDX-License-Identifier: Apache-2.0
#include "webhook/certificate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace tessera::webhook {
namespace {

constexpr Duration kOneDay = std::chrono::hours(24);
constexpr Wall kToday = Wall(std::chrono::seconds(1'795'000'000));
const std::vector<std::string> kServiceNames = {"webhook.kube-system.svc",
                                                "webhook.kube-system.svc.cluster.local"};

http::CertificateFacts GoodFacts() {
  const http::Term term{.from = kToday - 600 * kOneDay, .until = kToday + 300 * kOneDay + kOneDay};
  return {.server = term,
          .authority = term,
          .key_fits = true,
          .authority_key_fits = true,
          .vouched_for = true,
          .names_covered = true};
}

kube::Texts RenewedFrom(const kube::Texts& data, Wall now,
                        const std::vector<std::string>& names = kServiceNames) {
  const auto renewed = Renew(data, names, now);
  if (!renewed || !*renewed) {
    ADD_FAILURE() << (renewed ? "nothing is made anew" : renewed.error().message);
    return {};
  }
  return (*renewed)->data;
}

std::string WhyRenewed(const kube::Texts& data, Wall now,
                       const std::vector<std::string>& names = kServiceNames) {
  const auto renewed = Renew(data, names, now);
  if (!renewed) return renewed.error().message;
  return *renewed ? (*renewed)->why : "";
}

TEST(RenewalOf, NothingIsRenewedBeforeTwoThirdsOfALifeAreOver) {
  EXPECT_EQ(RenewalOf(GoodFacts(), kToday), Renewal{});
  EXPECT_EQ(RenewalOf(GoodFacts(), kToday + kOneDay),
            (Renewal{Renewal::Of::kAll, "the CA expires soon"}));
}

TEST(RenewalOf, TheCertificateAloneIsRenewedWhereItsAuthorityGoesOn) {
  http::CertificateFacts facts = GoodFacts();
  facts.server.until = kToday + 299 * kOneDay;
  EXPECT_EQ(RenewalOf(facts, kToday),
            (Renewal{Renewal::Of::kLeaf, "the certificate expires soon"}));
  facts.server.until = kToday;
  EXPECT_EQ(RenewalOf(facts, kToday), (Renewal{Renewal::Of::kLeaf, "the certificate has expired"}));
  facts.server = {.from = kToday + kOneDay, .until = kToday + 2 * kOneDay};
  EXPECT_EQ(RenewalOf(facts, kToday),
            (Renewal{Renewal::Of::kLeaf, "the certificate is not valid yet"}));
}

TEST(RenewalOf, ACertificateThatServesNobodyIsRenewed) {
  http::CertificateFacts facts = GoodFacts();
  facts.names_covered = false;
  EXPECT_EQ(RenewalOf(facts, kToday),
            (Renewal{Renewal::Of::kLeaf, "the certificate lacks a name of the Service"}));
  facts.key_fits = false;
  EXPECT_EQ(RenewalOf(facts, kToday),
            (Renewal{Renewal::Of::kLeaf, "the key does not match the certificate"}));
  facts.vouched_for = false;
  EXPECT_EQ(RenewalOf(facts, kToday),
            (Renewal{Renewal::Of::kLeaf, "the CA has not signed the certificate"}));
}

TEST(RenewalOf, WithoutTheAuthoritysKeyAllIsRenewedOnceItIsNeeded) {
  http::CertificateFacts facts = GoodFacts();
  facts.authority_key_fits = false;
  EXPECT_EQ(RenewalOf(facts, kToday), Renewal{});
  facts.names_covered = false;
  EXPECT_EQ(RenewalOf(facts, kToday).of, Renewal::Of::kAll);
}

TEST(RenewalOf, WhatCannotBeReadIsRenewed) {
  EXPECT_EQ(RenewalOf(Fail(Reason::kInvalid, "no PEM"), kToday),
            (Renewal{Renewal::Of::kAll, "no PEM"}));
}

TEST(Renew, WhatIsMadeIsGoodForItsNames) {
  const kube::Texts data = RenewedFrom({}, kToday);
  EXPECT_EQ(WhyRenewed(data, kToday), "");
  EXPECT_EQ(WhyRenewed(data, kToday, {"other.svc"}), "the certificate lacks a name of the Service");
  const auto facts = http::LookAtCertificate(
      IdentityIn(data),
      {.certificate = data.find(kAuthorities)->second, .key = data.find(kAuthorityKey)->second},
      kServiceNames);
  ASSERT_TRUE(facts.has_value()) << facts.error().message;
  const Duration hour = std::chrono::hours(1);
  EXPECT_EQ(*facts, (http::CertificateFacts{
                        .server = {.from = kToday - hour, .until = kToday + 365 * kOneDay},
                        .authority = {.from = kToday - hour, .until = kToday + 3650 * kOneDay},
                        .key_fits = true,
                        .authority_key_fits = true,
                        .vouched_for = true,
                        .names_covered = true}));
}

TEST(Renew, TheCertificateOfTheNextYearIsOfTheSameAuthority) {
  const kube::Texts data = RenewedFrom({}, kToday);
  const Wall later = kToday + 250 * kOneDay;
  EXPECT_EQ(WhyRenewed(data, later), "the certificate expires soon");
  const kube::Texts next = RenewedFrom(data, later);
  EXPECT_EQ(next.find(kAuthorities)->second, data.find(kAuthorities)->second);
  EXPECT_EQ(next.find(kAuthorityKey)->second, data.find(kAuthorityKey)->second);
  EXPECT_NE(next.find(kCertificate)->second, data.find(kCertificate)->second);
  EXPECT_EQ(WhyRenewed(next, later), "");
}

TEST(Renew, BehindANewAuthorityTheFormerOneIsTrustedYet) {
  const kube::Texts data = RenewedFrom({}, kToday);
  const Wall later = kToday + 2500 * kOneDay;
  const kube::Texts next = RenewedFrom(data, later);
  EXPECT_TRUE(next.find(kAuthorities)->second.ends_with(data.find(kAuthorities)->second));
  EXPECT_NE(next.find(kAuthorities)->second, data.find(kAuthorities)->second);
  EXPECT_EQ(WhyRenewed(next, later), "");
  const std::string third = RenewedFrom(next, later + 2500 * kOneDay).find(kAuthorities)->second;
  EXPECT_EQ(third.find(data.find(kAuthorities)->second), std::string::npos);
}

TEST(Renew, ABrokenSecretIsMadeAnew) {
  kube::Texts data = RenewedFrom({}, kToday);
  data[kCertificate] = "none";
  EXPECT_TRUE(WhyRenewed(data, kToday).starts_with("the certificate cannot be read: "));
  kube::Texts other = RenewedFrom({}, kToday);
  data = RenewedFrom({}, kToday);
  data[kKey] = other[kKey];
  EXPECT_EQ(WhyRenewed(data, kToday), "the key does not match the certificate");
  data[kAuthorities] = other[kAuthorities];
  EXPECT_EQ(WhyRenewed(data, kToday), "the CA has not signed the certificate");
}

TEST(Renew, WhatIsNoNameMakesNoCertificate) {
  EXPECT_EQ(WhyRenewed({}, kToday, {"a.svc,IP:10.0.0.1"}), "a.svc,IP:10.0.0.1 is not a DNS name");
  EXPECT_EQ(WhyRenewed({}, kToday, {}), "a certificate has 0 names; it may have 1 to 16");
}

}  // namespace
}  // namespace tessera::webhook
