// SPDX-License-Identifier: Apache-2.0
// The admission webhook at work: a port of its own, over TLS, on which the API server asks about
// new pods. Its certificate is made and kept here, or given in files; both are taken up without a
// restart. One thread: its loop's, which a large pod does not hold up: pods are read and patched by
// workers. All that is given outlives it.
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
  std::string address{};  // empty: there is none
  webhook::Rules rules{};
  // The rules' guard is on where the API server is older than its policies (1.30), and until that
  // is known; else as the rules say.
  bool guards_by_version = false;
  // The certificate with its chain, and its key. Empty: they are made, and kept in a Secret.
  std::string certificate_file{};
  std::string key_file{};
  webhook::KeptCertificates kept{};
  // How often files are read, and a port that others have is tried again.
  Duration look = std::chrono::seconds(30);
};

class WebhookServer {
 public:
  // Asked for with each pod, and never null.
  using Facts = std::function<std::shared_ptr<const webhook::ClusterFacts>()>;
  WebhookServer(os::Loop& loop, const Clock& clock, kube::Client& client, WebhookOptions options,
                Facts facts);

  // 0: nothing is served yet.
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
  std::shared_ptr<const webhook::Rules> rules_;  // workers' as well
  Backoff version_pauses_{Duration(1'000), Duration(60'000)};
  std::optional<webhook::Keeper> keeper_;
  std::unique_ptr<http::Server> server_;
  http::Identity wanted_;  // the newest
  http::Identity served_;
  std::string refusal_;  // why nothing new is served, as the log last said
  os::Alarm again_;
  os::Alarm version_again_;
  uint64_t questions_ = 0;                    // so far
  std::map<uint64_t, http::Respond> asking_;  // those that workers have
  os::Workers workers_;
  os::Mailbox<WebhookServer> mailbox_{loop_, *this};
};

}  // namespace tessera::scheduler
