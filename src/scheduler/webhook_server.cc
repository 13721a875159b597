// SPDX-License-Identifier: Apache-2.0
#include "scheduler/webhook_server.h"

#include <utility>

#include "base/log.h"
#include "os/files.h"
#include "webhook/admission.h"

namespace tessera::scheduler {
namespace {

// A pod may take 1.5 MB, and a review has it twice.
constexpr size_t kMostOfReview = size_t{16} << 20;

constexpr char kMutating[] = "/webhook";
constexpr char kValidating[] = "/validate";

}  // namespace

WebhookServer::WebhookServer(os::Loop& loop, const Clock& clock, kube::Client& client,
                             WebhookOptions options, std::function<webhook::ClusterFacts()> facts)
    : loop_(loop),
      options_(std::move(options)),
      facts_(std::move(facts)),
      again_(loop, [this] { Look(); }) {
  if (options_.address.empty()) return;
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

// Whoever renews them replaces the files, at any time.
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
    return log::Warn("the webhook does not serve by its certificate", served.error());
  }
  refusal_.clear();
  served_ = identity;
  log::Info("the webhook serves", {{"address", options_.address}});
}

Status WebhookServer::Listen(const http::Identity& identity) {
  http::ListenOptions listen{
      .takes = {.posts = true, .body = kMostOfReview, .chunks = true, .requests = 1'000'000},
      .bounds = {.all = 512, .of_peer = 64, .received = size_t{64} << 20},
      .identity = identity};
  server_ = TRY(http::Server::ListenTcp(
      loop_, options_.address,
      [this](const http::Request& request, const http::Respond& respond) {
        respond(Answer(request));
      },
      listen));
  return {};
}

http::Response WebhookServer::Answer(const http::Request& request) const {
  const bool mutating = request.path == kMutating;
  if (request.method != "POST" || (!mutating && request.path != kValidating)) {
    return http::Failure({Reason::kNotFound, "there is no " + request.path});
  }
  const auto answer =
      webhook::Admit(request.body, options_.rules, facts_(),
                     mutating ? webhook::Stage::kMutating : webhook::Stage::kValidating);
  if (!answer) return http::Failure(answer.error());
  return {.body = json::Write(*answer)};
}

}  // namespace tessera::scheduler
