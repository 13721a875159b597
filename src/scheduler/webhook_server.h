// SPDX-License-Identifier: Apache-2.0
// The admission webhook at work: a port of its own, over TLS, on which the API server asks about
// new pods. Its certificate is made and kept here, or given in files; both are taken up without a
// restart. One thread: its loop's. All that is given outlives it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "http/http.h"
#include "http/listen.h"
#include "kube/client.h"
#include "os/alarm.h"
#include "os/loop.h"
#include "webhook/keeper.h"
#include "webhook/rules.h"

namespace tessera::scheduler {

struct WebhookOptions {
  std::string address{};  // empty: there is none
  webhook::Rules rules{};
  // The certificate with its chain, and its key. Empty: they are made, and kept in a Secret.
  std::string certificate_file{};
  std::string key_file{};
  webhook::KeptCertificates kept{};
  // How often files are read, and a port that others have is tried again.
  Duration look = std::chrono::seconds(30);
};

class WebhookServer {
 public:
  // `facts` are asked for with each pod.
  WebhookServer(os::Loop& loop, const Clock& clock, kube::Client& client, WebhookOptions options,
                std::function<webhook::ClusterFacts()> facts);

  // 0: nothing is served yet.
  int port() const { return server_ == nullptr ? 0 : server_->port(); }

 private:
  void Look();
  void ReadFiles();
  void Serve(const http::Identity& identity);
  Status Listen(const http::Identity& identity);
  http::Response Answer(const http::Request& request) const;

  os::Loop& loop_;
  const WebhookOptions options_;
  const std::function<webhook::ClusterFacts()> facts_;
  std::optional<webhook::Keeper> keeper_;
  std::unique_ptr<http::Server> server_;
  http::Identity wanted_;  // the newest
  http::Identity served_;
  std::string refusal_;  // why nothing new is served, as the log last said
  os::Alarm again_;
};

}  // namespace tessera::scheduler
