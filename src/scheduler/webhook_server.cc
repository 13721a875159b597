// SPDX-License-Identifier: Apache-2.0
#include "scheduler/webhook_server.h"

#include <fmt/core.h>

#include <utility>

#include "base/log.h"
#include "kube/objects/version.h"
#include "os/files.h"
#include "webhook/admission.h"

namespace tessera::scheduler {
namespace {

// A pod may take 1.5 MB, and a review has it twice.
constexpr size_t kMostOfReview = size_t{16} << 20;

// With two, one large pod does not hold up the small ones.
constexpr int kWorkers = 2;

// An API server has one connection per concurrent write (--max-mutating-requests-inflight is 200).
constexpr size_t kMostOfApiServer = 256;

constexpr char kMutating[] = "/webhook";
constexpr char kValidating[] = "/validate";

// The first version with ValidatingAdmissionPolicy (deploy/hami/policy.yaml).
constexpr kube::Version kWithPolicies{1, 30};

http::Response ResponseTo(std::string_view body, const webhook::Rules& rules,
                          const webhook::ClusterFacts& facts, webhook::Stage stage) {
  const auto answer = webhook::Admit(body, rules, facts, stage);
  if (!answer) return http::Failure(answer.error());
  return {.body = json::Write(*answer)};
}

}  // namespace

WebhookServer::WebhookServer(os::Loop& loop, const Clock& clock, kube::Client& client,
                             WebhookOptions options, Facts facts)
    : loop_(loop),
      client_(client),
      options_(std::move(options)),
      facts_(std::move(facts)),
      rules_(std::make_shared<webhook::Rules>(options_.rules)),
      again_(loop, [this] { Look(); }),
      version_again_(loop, [this] { AskVersion(); }),
      workers_(kWorkers) {
  if (options_.address.empty()) return;
  if (options_.guards_by_version) {
    Guard(true);
    AskVersion();
  }
  if (!options_.certificate_file.empty()) {
    ReadFiles();
    return;
  }
  keeper_.emplace(loop, clock, client, options_.kept,
                  [this](const http::Identity& identity) { Serve(identity); });
  keeper_->Look();
}

void WebhookServer::Look() {
  keeper_ ? Serve(wanted_) : ReadFiles();
}

// Another program renews the files at any time, so they are read at intervals.
void WebhookServer::ReadFiles() {
  again_.RingWithin(options_.look);
  auto certificate = os::ReadFile(options_.certificate_file);
  auto key = os::ReadFile(options_.key_file);
  if (certificate && key) return Serve({*std::move(certificate), *std::move(key)});
  const Error& why = certificate ? key.error() : certificate.error();
  if (std::exchange(refusal_, why.message) == why.message) return;
  log::Warn("the webhook's certificate cannot be read", why);
}

void WebhookServer::Serve(const http::Identity& identity) {
  wanted_ = identity;
  const bool same = identity.certificate == served_.certificate && identity.key == served_.key;
  if (server_ != nullptr && same) return;
  const Status served = server_ == nullptr ? Listen(identity) : server_->Change(identity);
  if (!served) {
    again_.RingWithin(options_.look);
    if (std::exchange(refusal_, served.error().message) == served.error().message) return;
    return log::Warn("the webhook cannot serve", served.error());
  }
  refusal_.clear();
  served_ = identity;
  log::Info("the webhook serves", {{"address", options_.address}});
}

Status WebhookServer::Listen(const http::Identity& identity) {
  http::ListenOptions listen{
      .takes = {.posts = true, .body = kMostOfReview, .chunks = true, .requests = 1'000'000},
      .bounds = {.all = 512,
                 .of_peer = kMostOfApiServer,
                 .of_loopback = kMostOfApiServer,
                 .received = size_t{64} << 20},
      .identity = identity};
  server_ = TRY(http::Server::ListenTcp(
      loop_, options_.address,
      [this](http::Request request, http::Respond respond) {
        Answer(std::move(request), std::move(respond));
      },
      listen));
  return {};
}

void WebhookServer::Answer(http::Request request, http::Respond respond) {
  const bool mutating = request.path == kMutating;
  if (request.method != "POST" || (!mutating && request.path != kValidating)) {
    return respond(http::Failure({Reason::kNotFound, "there is no " + request.path}));
  }
  const webhook::Stage stage = mutating ? webhook::Stage::kMutating : webhook::Stage::kValidating;
  const uint64_t question = ++questions_;
  asking_.emplace(question, std::move(respond));
  workers_.Run([body = std::move(request.body), rules = rules_, facts = facts_(), stage, question,
                answered = mailbox_.Bind(&WebhookServer::Answered)] {
    answered(question, ResponseTo(body, *rules, *facts, stage));
  });
}

void WebhookServer::Answered(uint64_t question, const http::Response& response) {
  const auto asking = asking_.extract(question);
  asking.mapped()(response);
}

void WebhookServer::AskVersion() {
  client_.Get(kube::kVersionPath, kube::VersionForm(),
              [this](const Result<json::Value>& answer) { TakeVersion(answer); });
}

void WebhookServer::TakeVersion(const Result<json::Value>& answer) {
  const auto version = answer.and_then(kube::ReadVersion);
  if (!version) {
    log::Warn("the API server's version cannot be read: the webhook refuses forged annotations",
              version.error());
    return version_again_.RingWithin(client_.NextPause(version_pauses_));
  }
  if (kWithPolicies <= *version) return Guard(false);
  log::Info("the API server has no admission policies: the webhook refuses forged annotations",
            {{"version", fmt::format("{}.{}", version->major, version->minor)}});
}

void WebhookServer::Guard(bool on) {
  auto rules = std::make_shared<webhook::Rules>(*rules_);
  rules->guard.on = on;
  rules_ = std::move(rules);
}

}  // namespace tessera::scheduler
