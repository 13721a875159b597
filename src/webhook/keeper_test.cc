// SPDX-License-Identifier: Apache-2.0
#include "webhook/keeper.h"

#include <optional>

#include "base/base64.h"
#include "kube/fake_cluster_test.h"
#include "kube/paths.h"
#include "webhook/certificate.h"

namespace tessera::webhook {
namespace {

constexpr char kNotThere[] = R"({"kind": "Status", "reason": "NotFound", "code": 404})";

// A fake API server's Secret and webhook configuration, each with its version.
class KeeperTest : public kube::ClusterTest {
 protected:
  KeeperTest() {
    clock_.Advance(std::chrono::hours(24 * 20'000));
    handler_ = [this](const fake::Asked& asked, fake::Peer& peer) { peer.Send(AnswerTo(asked)); };
  }

  std::string AnswerTo(const fake::Asked& asked) {
    const bool writes = asked.method != "GET";
    if (writes && before_write_) std::exchange(before_write_, {})();
    const bool of_secret = asked.target.find("/secrets") != std::string::npos;
    if (asked.method == "POST" && !secret_.is_null()) {
      return kube::Refusal(409, "AlreadyExists", "there is one");
    }
    if (asked.method == "PUT" && VersionIn(*json::Parse(asked.body)) != VersionIn(secret_)) {
      return kube::Refusal(409, "Conflict", "it is another by now");
    }
    if (writes) writes_.push_back(asked.method + (of_secret ? " secret" : " configuration"));
    if (writes && of_secret) Put(*json::Parse(asked.body));
    if (writes && !of_secret) {
      const json::Value patch = *json::Parse(asked.body);
      bundle_ = *json::GetString(
          *json::GetObject(json::GetArray(patch.as_object(), "webhooks")->at(0).as_object(),
                           "clientConfig"),
          "caBundle");
    }
    if (!of_secret) return fake::Answer(200, json::Write(Configuration()));
    return secret_.is_null()
               ? fake::Answer(404, kNotThere)
               : fake::Answer(asked.method == "POST" ? 201 : 200, json::Write(secret_));
  }
  static std::string VersionIn(const json::Value& object) {
    return *json::GetString(*json::GetObject(object.as_object(), "metadata"), "resourceVersion");
  }
  void Put(json::Value secret) {
    secret.as_object()["metadata"].as_object()["resourceVersion"] = std::to_string(++version_);
    secret_ = std::move(secret);
  }
  // Another replica's concurrent write.
  kube::Texts PutAnothers() {
    kube::Secret secret{.secret_namespace = "kube-system", .name = "webhook"};
    secret.data = (*Renew({}, kept_.names, clock_.WallNow()))->data;
    Put(kube::SecretJson(secret));
    return secret.data;
  }
  json::Value Configuration() const {
    return json::Object{{"metadata", json::Object{{"name", "w"}, {"resourceVersion", "1"}}},
                        {"webhooks", json::Array{json::Object{
                                         {"name", "pods"},
                                         {"clientConfig", json::Object{{"caBundle", bundle_}}}}}}};
  }
  kube::Texts Data() const { return kube::ReadSecret(secret_)->data; }
  bool TrustsData() const { return bundle_ == EncodeBase64(Data().find(kAuthorities)->second); }

  void Keep(Duration look = std::chrono::hours(1)) {
    keeper_.emplace(
        loop_, clock_, client(), kept_,
        [this](const http::Identity& identity) {
          trusted_when_served_ = TrustsData();
          served_.push_back(identity.certificate);
        },
        Backoff(Duration(10), Duration(10)), look);
    keeper_->Look();
  }
  bool ServesTimes(size_t times) {
    return RunUntil([&] { return served_.size() == times; });
  }

  FakeClock clock_;
  const KeptCertificates kept_{.secret_namespace = "kube-system",
                               .secret = "webhook",
                               .names = {"webhook.kube-system.svc"},
                               .configurations = {kube::MutatingWebhookPath("w")}};
  json::Value secret_ = nullptr;
  std::string bundle_;
  int version_ = 0;
  std::function<void()> before_write_;
  std::vector<std::string> writes_;
  std::vector<std::string> served_;
  bool trusted_when_served_ = false;
  std::optional<Keeper> keeper_;
};

TEST_F(KeeperTest, WhereThereIsNoSecretOneIsMadeAndTrustedBeforeItIsServed) {
  Keep();
  ASSERT_TRUE(ServesTimes(1));
  EXPECT_EQ(writes_, (std::vector<std::string>{"POST secret", "PATCH configuration"}));
  EXPECT_EQ(served_[0], Data().find(kCertificate)->second);
  EXPECT_TRUE(trusted_when_served_);
}

TEST_F(KeeperTest, WhatIsGoodIsServedWithoutAWrite) {
  const kube::Texts data = PutAnothers();
  bundle_ = EncodeBase64(data.find(kAuthorities)->second);
  Keep();
  ASSERT_TRUE(ServesTimes(1));
  EXPECT_EQ(writes_, std::vector<std::string>{});
  EXPECT_EQ(served_[0], data.find(kCertificate)->second);
}

TEST_F(KeeperTest, WhatAnotherReplicaMadeFirstIsServed) {
  kube::Texts others;
  before_write_ = [&] { others = PutAnothers(); };
  Keep();
  ASSERT_TRUE(ServesTimes(1));
  EXPECT_EQ(writes_, std::vector<std::string>{"PATCH configuration"});
  EXPECT_EQ(served_[0], others.find(kCertificate)->second);
  EXPECT_TRUE(trusted_when_served_);
}

TEST_F(KeeperTest, BeforeItsEndACertificateIsMadeAnewAndServed) {
  Keep(Duration(10));
  ASSERT_TRUE(ServesTimes(1));
  const std::string bundle = bundle_;
  clock_.Advance(std::chrono::hours(24 * 250));
  ASSERT_TRUE(ServesTimes(2));
  EXPECT_NE(served_[1], served_[0]);
  EXPECT_EQ(writes_,
            (std::vector<std::string>{"POST secret", "PATCH configuration", "PUT secret"}));
  EXPECT_EQ(bundle_, bundle);
}

TEST_F(KeeperTest, WhereAnotherReplicaRenewsFirstItsCertificateIsServed) {
  Keep(Duration(10));
  ASSERT_TRUE(ServesTimes(1));
  kube::Texts others;
  before_write_ = [&] { others = PutAnothers(); };
  clock_.Advance(std::chrono::hours(24 * 250));
  ASSERT_TRUE(ServesTimes(2));
  EXPECT_EQ(served_[1], others.find(kCertificate)->second);
  EXPECT_TRUE(TrustsData());
}

TEST_F(KeeperTest, ABundleThatAPersonTookAwayComesBack) {
  Keep(Duration(10));
  ASSERT_TRUE(ServesTimes(1));
  bundle_.clear();
  EXPECT_TRUE(RunUntil([&] { return TrustsData(); }));
  EXPECT_EQ(served_.size(), 1U);
}

}  // namespace
}  // namespace tessera::webhook
