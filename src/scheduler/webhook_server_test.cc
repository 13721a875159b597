// SPDX-License-Identifier: Apache-2.0
#include "scheduler/webhook_server.h"

#include <gtest/gtest.h>

#include "api/certificates.h"
#include "api/server.h"
#include "base/base64.h"
#include "base/captured_log_test.h"
#include "hami/vendor.h"
#include "http/remote.h"
#include "http/slow_clients_test.h"
#include "kube/fake_cluster_test.h"
#include "os/files.h"
#include "placement/placement.h"

namespace tessera::scheduler {
namespace {

class WebhookServerTest : public kube::ClusterTest {
 protected:
  WebhookServerTest() {
    options_.address = "127.0.0.1:0";
    options_.rules.devices[0].requests =
        RulesOf(std::string(hami::kNvidia.count), hami::kNvidia.Requests());
    options_.rules.schedulers = {"hami-scheduler"};
    options_.certificate_file = directory_ + "/tls.crt";
    options_.key_file = directory_ + "/tls.key";
  }
  void WriteFiles(const fake::Certificate& authority) {
    const auto made = fake::Issue(authority, {.names = "IP:127.0.0.1"});
    ASSERT_TRUE(os::WriteFileAtomically(options_.certificate_file, made.certificate));
    ASSERT_TRUE(os::WriteFileAtomically(options_.key_file, made.key));
  }
  void Start() {
    server_ = std::make_unique<WebhookServer>(loop_, clock_, client(), options_, [this] {
      ++judged_;
      return facts_;
    });
  }
  // Makes the server keep its certificate in a Secret that does not exist yet.
  void KeepInASecret() {
    options_.certificate_file = options_.key_file = "";
    options_.kept = {.secret_namespace = "kube-system",
                     .secret = "tessera-scheduler-webhook",
                     .names = {"tessera-scheduler.kube-system.svc"},
                     .configurations = {}};
    handler_ = [](const fake::Asked& asked, fake::Peer& peer) {
      if (asked.method == "GET") return peer.Send(kube::Refusal(404, "NotFound", "not there"));
      peer.Send(fake::Answer(201, "{}"));
    };
  }
  // "STATUS BODY" or the error, for a client that trusts this authority.
  std::string Ask(const std::string& path, const std::string& body) {
    http::Remote remote(
        loop_, {.host = "127.0.0.1", .port = server_->port(), .ca = authority_.certificate});
    std::string answer;
    const auto exchange = remote.Ask(
        {.method = "POST", .target = path, .body = body}, kPatience,
        [&](const Result<http::Reply>& reply) {
          answer = reply ? fmt::format("{} {}", reply->status, reply->body) : reply.error().message;
        });
    EXPECT_TRUE(RunUntil([&] { return !answer.empty(); }));
    return answer;
  }
  // `metadata` and `spec`: further members, each with a comma behind it.
  static std::string ReviewOf(const std::string& memory, const std::string& metadata = "",
                              const std::string& spec = "") {
    return R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{)"
           R"("uid":"r1","kind":{"group":"","version":"v1","kind":"Pod"},)"
           R"("resource":{"group":"","version":"v1","resource":"pods"},"operation":"CREATE",)"
           R"("namespace":"team","object":{"metadata":{)" +
           metadata + R"("name":"train"},"spec":{)" + spec +
           R"("schedulerName":"default-scheduler","containers":[{"name":"main","resources":)"
           R"({"limits":{"nvidia.com/gpu":"1","nvidia.com/gpumem":")" +
           memory + R"("}}}]}}}})";
  }
  static std::string ForgedReview() {
    return ReviewOf("3000", R"("annotations":{"hami.io/vgpu-devices-allocated":"GPU-a"},)");
  }
  // The API server says that it is 1.`minor`.
  void AnswerWithVersion(int minor) {
    AnswerWith({fake::Answer(200, fmt::format(R"({{"major":"1","minor":"{}"}})", minor))});
  }

  FakeClock clock_;
  CapturedLog log_;
  WebhookOptions options_;
  std::shared_ptr<const webhook::ClusterFacts> facts_ =
      std::make_shared<webhook::ClusterFacts>(webhook::ClusterFacts{.fitting_unplaced = {"n1"}});
  int judged_ = 0;  // received reviews
  std::unique_ptr<WebhookServer> server_;
};

TEST_F(WebhookServerTest, CompletesPodsOnOnePathAndRefusesThemOnBoth) {
  WriteFiles(authority_);
  Start();

  const std::string mutated = Ask("/webhook", ReviewOf("3000"));
  EXPECT_TRUE(mutated.starts_with(R"(200 {"apiVersion":"admission.k8s.io/v1",)")) << mutated;
  EXPECT_NE(mutated.find(R"("patchType":"JSONPatch")"), std::string::npos) << mutated;
  const std::string validated = Ask("/validate", ReviewOf("3000"));
  EXPECT_NE(validated.find(R"("allowed":true)"), std::string::npos) << validated;
  EXPECT_EQ(validated.find("patch"), std::string::npos) << validated;
  for (const char* path : {"/webhook", "/validate"}) {
    const std::string refused = Ask(path, ReviewOf("16Gi"));
    EXPECT_NE(refused.find(R"("allowed":false)"), std::string::npos) << refused;
    EXPECT_NE(refused.find("container main asks for 16Gi of nvidia.com/gpumem"), std::string::npos)
        << refused;
  }
}

TEST_F(WebhookServerTest, APodIsJudgedByWhatTheClusterIs) {
  WriteFiles(authority_);
  Start();

  const std::string fits = Ask("/webhook", ReviewOf("3000", "", R"("nodeName":"n1",)"));
  EXPECT_NE(fits.find(R"("allowed":true,"warnings":["spec.nodeName n1 bypasses the scheduler:)"),
            std::string::npos)
      << fits;
  const std::string refused = Ask("/webhook", ReviewOf("3000", "", R"("nodeName":"n2",)"));
  EXPECT_NE(refused.find(R"("allowed":false)"), std::string::npos) << refused;
}

TEST_F(WebhookServerTest, APodGetsTheLabelThatItsNodesMustHave) {
  WriteFiles(authority_);
  options_.rules.node_label = "gpu";
  Start();

  const std::string answer = Ask("/webhook", ReviewOf("3000"));

  const size_t begin = answer.find(R"("patch":")") + 9;
  const auto patch = DecodeBase64(answer.substr(begin, answer.find('"', begin) - begin));
  ASSERT_TRUE(patch.has_value()) << answer;
  EXPECT_NE(patch->find(R"({"op":"add","path":"/spec/affinity","value":{"nodeAffinity":)"
                        R"({"requiredDuringSchedulingIgnoredDuringExecution":)"
                        R"({"nodeSelectorTerms":[{"matchExpressions":)"
                        R"([{"key":"gpu","operator":"Exists"}]}]}}}})"),
            std::string::npos)
      << *patch;
}

TEST_F(WebhookServerTest, WhereTheApiServerHasNoPoliciesForgedPodsAreRefused) {
  WriteFiles(authority_);
  options_.guards_by_version = true;
  AnswerWithVersion(29);
  Start();
  const std::string told =
      "INFO the API server has no admission policies: the webhook refuses forged annotations "
      "version=1.29";
  ASSERT_TRUE(RunUntil([&] { return log_.text().find(told) != std::string::npos; }));
  EXPECT_EQ(asked_[0].target, "/version");

  const std::string refused = Ask("/validate", ForgedReview());

  EXPECT_NE(refused.find("pod team/train: hami.io/vgpu-devices-allocated: reserved for the "
                         "scheduler and the nodes' agents"),
            std::string::npos)
      << refused;
}

TEST_F(WebhookServerTest, WhereTheApiServerHasPoliciesTheyDoThat) {
  WriteFiles(authority_);
  options_.guards_by_version = true;
  fake::Peer* waiting = nullptr;
  handler_ = [&](const fake::Asked&, fake::Peer& peer) { waiting = &peer; };
  Start();
  // Until the API server's version is known, it may be an old one.
  ASSERT_TRUE(RunUntil([&] { return waiting != nullptr; }));
  EXPECT_NE(Ask("/validate", ForgedReview()).find(R"("allowed":false)"), std::string::npos);

  waiting->Send(fake::Answer(200, R"({"major":"1","minor":"30"})"));

  const auto is_allowed = [&] {
    return Ask("/validate", ForgedReview()).find(R"("allowed":true)") != std::string::npos;
  };
  EXPECT_TRUE(RunUntil(is_allowed));
}

TEST_F(WebhookServerTest, AVersionThatCannotBeReadIsAskedForAgain) {
  WriteFiles(authority_);
  options_.guards_by_version = true;
  AnswerWith({fake::Answer(200, "{}"), fake::Answer(200, R"({"major":"1","minor":"36"})")});
  Start();

  EXPECT_TRUE(RunUntil([&] { return asked_.size() == 2; }));
  EXPECT_NE(
      log_.text().find(
          "WARN the API server's version cannot be read: the webhook refuses forged annotations"),
      std::string::npos)
      << log_.text();
}

TEST_F(WebhookServerTest, WithoutThatTheRulesSayWhetherItGuards) {
  WriteFiles(authority_);
  options_.rules.guard.on = true;
  Start();

  EXPECT_NE(Ask("/webhook", ForgedReview()).find(R"("allowed":false)"), std::string::npos);
  EXPECT_EQ(asked_.size(), 0U);
}

TEST_F(WebhookServerTest, AThousandSlowClientsHoldUpNoReview) {
  WriteFiles(authority_);
  Start();
  // The clients send the beginning of TLS.
  http::SlowClients slow(server_->port(), 1'000, "\x16\x03\x01");

  const std::string answer = Ask("/webhook", ReviewOf("3000"));
  EXPECT_NE(answer.find(R"("allowed":true)"), std::string::npos) << answer;
  slow.Drip();
  EXPECT_EQ(Ask("/webhook", ReviewOf("3000")), answer);
}

TEST_F(WebhookServerTest, AnApiServerThatAsksAboutManyPodsAtOnceIsAnsweredAboutEach) {
  WriteFiles(authority_);
  Start();
  http::Remote remote(loop_,
                      {.host = "127.0.0.1", .port = server_->port(), .ca = authority_.certificate});
  constexpr size_t kPods = 200;
  std::vector<std::unique_ptr<http::Exchange>> exchanges;
  std::map<std::string, size_t> answers;
  size_t ended = 0;
  for (size_t i = 0; i < kPods; ++i) {
    exchanges.push_back(
        remote.Ask({.method = "POST", .target = "/validate", .body = ReviewOf("3000")}, kPatience,
                   [&](const Result<http::Reply>& reply) {
                     ++ended;
                     ++answers[reply ? std::to_string(reply->status) : reply.error().message];
                   }));
  }

  ASSERT_TRUE(RunUntil([&] { return ended == kPods; }));
  EXPECT_EQ(answers, (std::map<std::string, size_t>{{"200", kPods}}));
}

// A large pod takes seconds to review here. It must delay neither other reviews nor other work of
// the loop's thread.
TEST_F(WebhookServerTest, ALargePodHoldsUpNoOtherReview) {
  WriteFiles(authority_);
  Start();
  std::string variables = R"({"name":"A","value":"x"})";
  while (variables.size() < size_t{2} << 20) variables += R"(,{"name":"A","value":"x"})";
  const std::string large = R"("initContainers":[{"name":"many","env":[)" + variables + R"(]}],)";
  http::Remote remote(loop_,
                      {.host = "127.0.0.1", .port = server_->port(), .ca = authority_.certificate});
  std::string order;
  const auto ask = [&](const std::string& body, const char* name) {
    return remote.Ask({.method = "POST", .target = "/validate", .body = body}, kPatience,
                      [&order, name](const Result<http::Reply>&) { order += name; });
  };

  const auto first = ask(ReviewOf("3000", "", large), "large ");
  ASSERT_TRUE(RunUntil([&] { return judged_ == 1; }));
  const auto second = ask(ReviewOf("3000"), "small ");

  ASSERT_TRUE(RunUntil([&] { return order.size() == 12; }));
  EXPECT_EQ(order, "small large ");
}

TEST_F(WebhookServerTest, AReviewOfOver16MiBIsRefusedAndTheNextOneAnswered) {
  WriteFiles(authority_);
  Start();

  const std::string refused = Ask("/webhook", std::string((size_t{16} << 20) + 1, ' '));
  EXPECT_TRUE(refused.starts_with("413 ")) << refused;
  EXPECT_NE(refused.find("the body is over 16 MiB"), std::string::npos) << refused;
  const std::string answer = Ask("/webhook", ReviewOf("3000"));
  EXPECT_NE(answer.find(R"("allowed":true)"), std::string::npos) << answer;
}

TEST_F(WebhookServerTest, AReviewOf16MiBIsAnsweredByWhatIsReadOfIt) {
  WriteFiles(authority_);
  Start();
  const size_t room = (size_t{16} << 20) - ReviewOf("3000").size() - 40;
  const auto noted = [&](const std::string& key) {
    return ReviewOf("3000",
                    R"("annotations":{")" + key + R"(":")" + std::string(room, 'x') + R"("},)");
  };

  const std::string answer = Ask("/webhook", noted("team/note"));
  EXPECT_NE(answer.find(R"("allowed":true)"), std::string::npos) << answer.substr(0, 500);
  const std::string refused = Ask("/webhook", noted("hami.io/note"));
  EXPECT_NE(refused.find("hami.io/note has 16776759 bytes, at most 32768 are read"),
            std::string::npos)
      << refused.substr(0, 500);
}

TEST_F(WebhookServerTest, WhatIsNoReviewIsRefused) {
  WriteFiles(authority_);
  Start();

  EXPECT_TRUE(Ask("/webhook", "[]").starts_with("400 ")) << Ask("/webhook", "[]");
  const std::string elsewhere = Ask("/filter", "{}");
  EXPECT_TRUE(elsewhere.starts_with("404 ")) << elsewhere;
  EXPECT_NE(elsewhere.find("there is no /filter"), std::string::npos) << elsewhere;
}

TEST_F(WebhookServerTest, ACertificateThatIsNotThereYetIsSaidOnce) {
  Start();

  EXPECT_EQ(server_->port(), 0);
  EXPECT_TRUE(log_.text().starts_with("WARN the webhook's certificate cannot be read "))
      << log_.text();
}

TEST_F(WebhookServerTest, WithoutAnAddressThereIsNone) {
  options_.address = "";
  Start();

  EXPECT_EQ(server_->port(), 0);
  EXPECT_EQ(asked_.size(), 0U);
}

TEST_F(WebhookServerTest, ACertificateOfItsOwnIsKeptInASecretAndServedOnceItIsTrusted) {
  KeepInASecret();
  Start();

  // The server creates the Secret.
  EXPECT_TRUE(RunUntil([&] { return asked_.size() >= 2; }));
  EXPECT_EQ(asked_[0].target, "/api/v1/namespaces/kube-system/secrets/tessera-scheduler-webhook");
  EXPECT_EQ(asked_[1].method + " " + asked_[1].target,
            "POST /api/v1/namespaces/kube-system/secrets");
}

TEST_F(WebhookServerTest, APortThatSomebodyElseHasIsTriedAgain) {
  auto other = http::Server::ListenTcp(loop_, "127.0.0.1:0",
                                       [](const http::Request&) { return http::Text("other"); });
  ASSERT_TRUE(other);
  options_.address = fmt::format("127.0.0.1:{}", (*other)->port());
  options_.look = Duration(1);
  KeepInASecret();
  Start();
  ASSERT_TRUE(
      RunUntil([&] { return log_.text().find("the webhook cannot serve") != std::string::npos; }));
  EXPECT_EQ(server_->port(), 0);

  other->reset();

  EXPECT_TRUE(RunUntil([&] { return server_->port() != 0; }));
}

}  // namespace
}  // namespace tessera::scheduler
