// SPDX-License-Identifier: Apache-2.0
// The admission webhook's server: a TLS port on which the API server asks about new pods. Its
// certificate is made and kept here, or read from files. Both are renewed without a restart.
// One thread: the loop's. Workers read and patch pods, so a large pod does not block the loop.
// Every constructor argument outlives it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/backoff.h"
#include "base/clock.h"
#include "base/result.h"
#include "http/http.h"
#include "http/listen.h"
#include "kube/client.h"
#include "os/alarm.h"
#include "os/loop.h"
#include "os/mailbox.h"
#include "os/worker.h"
#include "webhook/keeper.h"
#include "webhook/rules.h"

namespace tessera::scheduler {

struct WebhookOptions {
  std::string address{};  // empty: no webhook
  webhook::Rules rules{};
  // If set, the guard is on until the API server is known to have policies (1.30). Otherwise the
  // rules decide.
  bool guards_by_version = false;
  // The certificate chain and its key. Empty: made here and kept in a Secret.
  std::string certificate_file{};
  std::string key_file{};
  webhook::KeptCertificates kept{};
  // How often files are read, and a busy port is retried.
  Duration look = std::chrono::seconds(30);
};

class WebhookServer {
 public:
  // Called for each pod. Never null.
  using Facts = std::function<std::shared_ptr<const webhook::ClusterFacts>()>;
  WebhookServer(os::Loop& loop, const Clock& clock, kube::Client& client, WebhookOptions options,
                Facts facts);

  // 0 while not listening.
  int port() const { return server_ == nullptr ? 0 : server_->port(); }

 private:
  void Look();
  void ReadFiles();
  void Serve(const http::Identity& identity);
  Status Listen(const http::Identity& identity);
  void Answer(http::Request request, http::Respond respond);
  void Answered(uint64_t question, const http::Response& response);
  void AskVersion();
  void TakeVersion(const Result<json::Value>& answer);
  void Guard(bool on);

  os::Loop& loop_;
  kube::Client& client_;
  const WebhookOptions options_;
  const Facts facts_;
  std::shared_ptr<const webhook::Rules> rules_;  // shared with workers
  Backoff version_pauses_{Duration(1'000), Duration(60'000)};
  std::optional<webhook::Keeper> keeper_;
  std::unique_ptr<http::Server> server_;
  http::Identity wanted_;  // newest identity
  http::Identity served_;
  std::string refusal_;  // last logged reason why it is not served
  os::Alarm again_;
  os::Alarm version_again_;
  uint64_t questions_ = 0;                    // count so far
  std::map<uint64_t, http::Respond> asking_;  // requests in the workers' hands
  os::Workers workers_;
  os::Mailbox<WebhookServer> mailbox_{loop_, *this};
};

}  // namespace tessera::scheduler
