// SPDX-License-Identifier: Apache-2.0
// Writes of a program whose replicas share the cluster: the first writer wins, the others learn of
// it, and no write happens twice.
#include "kube/client.h"
#include "kube/fake_cluster_test.h"
#include "kube/objects/secret.h"
#include "kube/objects/webhook.h"

namespace tessera::kube {
namespace {

constexpr char kBindingCall[] = "create /api/v1/namespaces/team/pods/trainer/binding: ";

class ClientWritesTest : public ClusterTest {
 protected:
  Status OutcomeOf(const std::function<void(Client::Outcome)>& call) {
    std::optional<Status> found;
    call([&](const Status& status) { found = status; });
    if (!RunUntil([&] { return found.has_value(); })) return Fail(Reason::kInternal, "no end");
    return *found;
  }
  Status Bind() {
    return OutcomeOf([&](auto outcome) { client().Bind(binding_, outcome); });
  }
  Result<json::Value> ReplaceSecret(const Secret& secret) {
    return Await<json::Value>([&](auto answer) {
      client().Replace(SecretPath("team", "tls"), SecretJson(secret), SecretForm(), answer);
    });
  }

  Binding binding_{.pod_namespace = "team",
                   .pod = "trainer",
                   .uid = "u1",
                   .node = "n1",
                   .annotations = {{"hami.io/vgpu-node", "n1"}}};
  Secret secret_{.secret_namespace = "team",
                 .name = "tls",
                 .data = {{"tls.key", "k"}},
                 .metadata = json::Object{{"resourceVersion", "7"}}};
};

TEST_F(ClientWritesTest, ABindingIsOneWrite) {
  AnswerWith({fake::Answer(201, R"({"kind":"Status","status":"Success"})")});

  EXPECT_TRUE(Bind().has_value());

  EXPECT_EQ(Targets(),
            std::vector<std::string>{"POST /api/v1/namespaces/team/pods/trainer/binding"});
  EXPECT_EQ(asked_[0].headers["content-type"], "application/json");
  EXPECT_EQ(asked_[0].body, json::Write(BindingJson(binding_).value()));
}

TEST_F(ClientWritesTest, APodThatIsBoundAlreadyIsAConflict) {
  AnswerWith({Refusal(409, "Conflict", "pod trainer is already assigned to node \"n2\"")});

  EXPECT_EQ(Bind().error(),
            (Error{Reason::kApiConflict,
                   std::string(kBindingCall) +
                       "pod trainer is already assigned to node \"n2\" (409 Conflict)"}));
  EXPECT_EQ(asked_.size(), 1U);
}

TEST_F(ClientWritesTest, APodThatIsGoneIsNotFound) {
  AnswerWith({Refusal(404, "NotFound", "pods \"trainer\" not found")});

  EXPECT_EQ(Bind().error(),
            (Error{Reason::kNotFound,
                   std::string(kBindingCall) + "pods \"trainer\" not found (404 NotFound)"}));
}

TEST_F(ClientWritesTest, NoBindingIsTakenForMadeSinceSomethingIsThereAlready) {
  AnswerWith({Refusal(409, "AlreadyExists", "there is one")});

  EXPECT_EQ(Bind().error().reason, Reason::kApiConflict);
}

TEST_F(ClientWritesTest, ABindingThatMayHaveBeenMadeIsNotTriedAgain) {
  AnswerWith({Refusal(500, "InternalError", "etcdserver: request timed out")});

  EXPECT_EQ(Bind().error(), (Error{Reason::kApiUnreachable,
                                   std::string(kBindingCall) +
                                       "etcdserver: request timed out (500 InternalError)"}));
  EXPECT_EQ(asked_.size(), 1U);
}

TEST_F(ClientWritesTest, ABindingWhoseAnswerIsLostIsNotTriedAgain) {
  handler_ = [](const fake::Asked&, fake::Peer& peer) { peer.HangUp(); };

  EXPECT_EQ(Bind().error().reason, Reason::kApiUnreachable);
  EXPECT_EQ(asked_.size(), 1U);
}

TEST_F(ClientWritesTest, ABindingWhoseKeptConnectionEndsIsNotWrittenAgain) {
  handler_ = [](const fake::Asked& asked, fake::Peer& peer) {
    if (asked.method == "POST") return peer.HangUp();
    peer.Send(fake::Answer(404, "{}"));
  };
  EXPECT_FALSE(Await<json::Value>([&](auto answer) { client().Get("/x", SecretForm(), answer); }));
  EXPECT_EQ(Bind().error().reason, Reason::kApiUnreachable);
  EXPECT_EQ(asked_.size(), 2U);
}

TEST_F(ClientWritesTest, ABindingThatIsNotAnsweredInTimeIsNotTriedAgain) {
  limits_.attempt = Duration(1'000);

  EXPECT_EQ(Bind().error(), (Error{Reason::kApiUnreachable,
                                   fmt::format("{}{}: no answer in time", kBindingCall, Where())}));
  EXPECT_EQ(asked_.size(), 1U);
}

TEST_F(ClientWritesTest, ABindingThatTheServerDidNotLookAtIsTriedAgain) {
  AnswerWith({Refusal(429, "TooManyRequests", "later"), fake::Answer(201, "{}")});

  EXPECT_TRUE(Bind().has_value());
  EXPECT_EQ(observed_, (std::vector<std::string>{"create 429", "create 201"}));
}

TEST_F(ClientWritesTest, WhereTheServerNeverLookedNothingIsBound) {
  limits_.deadline = Duration(2'000);
  AnswerWith({Refusal(429, "TooManyRequests", "later")});

  EXPECT_EQ(Bind().error().reason, Reason::kApiBusy);
}

TEST_F(ClientWritesTest, ABindingWhoseTurnDoesNotComeIsNotMade) {
  limits_ = {.per_second = 0.001, .burst = 1, .deadline = Duration(2'000)};
  AnswerWith({fake::Answer(200, "{}")});
  ASSERT_TRUE(Get().has_value());

  EXPECT_EQ(Bind().error(),
            (Error{Reason::kApiBusy, std::string(kBindingCall) + "not sent within 2s"}));
  EXPECT_EQ(asked_.size(), 1U);
}

TEST_F(ClientWritesTest, ABindingThatWouldNotBeReadBackIsNotSent) {
  binding_.uid.clear();

  EXPECT_EQ(Bind().error(),
            (Error{Reason::kInvalid, "the binding of pod team/trainer: a field is missing"}));
  EXPECT_EQ(asked_.size(), 0U);
}

TEST_F(ClientWritesTest, ASecretThatAnotherMadeFirstIsAConflict) {
  AnswerWith({Refusal(409, "AlreadyExists", R"(secrets "tls" already exists)")});
  const json::Value secret = SecretJson({.secret_namespace = "team", .name = "tls"});

  const Status made = OutcomeOf([&](auto outcome) {
    client().Create(SecretsPath("team"), secret, outcome, IfThere::kConflict);
  });

  EXPECT_EQ(made.error(),
            (Error{Reason::kApiConflict,
                   "create /api/v1/namespaces/team/secrets: secrets \"tls\" already exists "
                   "(409 AlreadyExists)"}));
  EXPECT_EQ(Targets(), std::vector<std::string>{"POST /api/v1/namespaces/team/secrets"});
}

TEST_F(ClientWritesTest, AnUpdateNamesTheVersionThatItIsOf) {
  AnswerWith({fake::Answer(
      200, R"({"metadata":{"namespace":"team","name":"tls","resourceVersion":"8"}})")});

  const auto written = ReplaceSecret(secret_);

  ASSERT_TRUE(written.has_value()) << written.error().message;
  EXPECT_EQ(ReadSecret(*written).value().metadata.at("resourceVersion"), "8");
  EXPECT_EQ(Targets(), std::vector<std::string>{"PUT /api/v1/namespaces/team/secrets/tls"});
  EXPECT_EQ(asked_[0].headers["content-type"], "application/json");
  EXPECT_EQ(asked_[0].body, json::Write(SecretJson(secret_)));
  EXPECT_EQ(observed_, std::vector<std::string>{"update 200"});
}

TEST_F(ClientWritesTest, AnUpdateOfAVersionThatIsNoMoreIsAConflict) {
  AnswerWith({Refusal(409, "Conflict", "the object has been modified")});

  EXPECT_EQ(ReplaceSecret(secret_).error(),
            (Error{Reason::kApiConflict,
                   "update /api/v1/namespaces/team/secrets/tls: the object has been modified "
                   "(409 Conflict)"}));
  EXPECT_EQ(asked_.size(), 1U);
}

TEST_F(ClientWritesTest, AnUpdateOfNoVersionIsNotSent) {
  secret_.metadata.clear();

  EXPECT_EQ(
      ReplaceSecret(secret_).error(),
      (Error{Reason::kInvalid,
             "update /api/v1/namespaces/team/secrets/tls: the object has no resourceVersion"}));
  EXPECT_EQ(asked_.size(), 0U);
}

TEST_F(ClientWritesTest, AWebhookIsGivenItsCaByAPatchOfTheVersionThatWasRead) {
  AnswerWith({fake::Answer(200, R"({"metadata":{"name":"x","resourceVersion":"7"},)"
                                R"("webhooks":[{"name":"a.x","clientConfig":{}}]})"),
              fake::Answer(200, "{}")});
  const std::string path = MutatingWebhookPath("x");
  const auto found =
      Await<json::Value>([&](auto answer) { client().Get(path, WebhookForm(), answer); });
  ASSERT_TRUE(found.has_value()) << found.error().message;

  const json::Value patch = CaBundlePatch(*found, "new").value().value();
  EXPECT_TRUE(Await<json::Value>([&](auto answer) {
                client().Patch(PatchType::kStrategic, path, patch, WebhookForm(), answer);
              }).has_value());

  EXPECT_EQ(Targets(), (std::vector<std::string>{"GET " + path, "PATCH " + path}));
  EXPECT_EQ(asked_[1].headers["content-type"], "application/strategic-merge-patch+json");
  EXPECT_EQ(asked_[1].body, R"({"metadata":{"resourceVersion":"7"},)"
                            R"("webhooks":[{"name":"a.x","clientConfig":{"caBundle":"bmV3"}}]})");
}

}  // namespace
}  // namespace tessera::kube
