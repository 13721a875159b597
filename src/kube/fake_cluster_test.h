// SPDX-License-Identifier: Apache-2.0
// A test's own API server, over TLS, with a client. Header-only.
#pragma once

#include <gtest/gtest.h>

#include <csignal>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/certificates.h"
#include "api/server.h"
#include "kube/client.h"
#include "os/files.h"

namespace tessera::kube {

class ClusterTest : public testing::Test {
 protected:
  static constexpr Duration kPatience{120'000};  // for a busy machine
  using Handler = std::function<void(const fake::Asked&, fake::Peer&)>;

  ClusterTest() {
    std::signal(SIGPIPE, SIG_IGN);
    const fake::Certificate made = fake::Issue(authority_, {.names = "IP:127.0.0.1"});
    server_ = std::make_unique<fake::Server>(
        loop_,
        [this](const fake::Asked& asked, fake::Peer& peer) {
          asked_.push_back(asked);
          handler_(asked, peer);
        },
        fake::ServerTls{.certificate = made.certificate, .key = made.key});
    access_.host = "127.0.0.1";
    access_.port = server_->port();
    access_.ca.value = authority_.certificate;
    access_.token.value = "secret";
  }
  ~ClusterTest() override { (void)os::RemoveTree(directory_); }

  std::string Where() const { return fmt::format("127.0.0.1:{}", access_.port); }

  // Sets the answers to the next requests, in order. The last one repeats.
  void AnswerWith(std::vector<std::string> answers) {
    handler_ = [answers = std::move(answers), at = size_t{0}](const fake::Asked&,
                                                              fake::Peer& peer) mutable {
      peer.Send(answers[std::min(at++, answers.size() - 1)]);
    };
  }

  Client& client() {
    if (!client_) {
      client_ = std::make_unique<Client>(loop_, access_, limits_,
                                         [this](std::string_view verb, int status) {
                                           observed_.push_back(fmt::format("{} {}", verb, status));
                                         });
    }
    return *client_;
  }

  bool RunUntil(const std::function<bool()>& done) {
    return fake::RunUntil(loop_, kPatience, done);
  }
  // Runs `call` and returns the answer that it puts into its argument.
  template <class T>
  Result<T> Await(const std::function<void(std::function<void(Result<T>)>)>& call) {
    std::optional<Result<T>> found;
    call([&](Result<T> answer) { found = std::move(answer); });
    if (!RunUntil([&] { return found.has_value(); })) return Fail(Reason::kInternal, "no end");
    return *std::move(found);
  }
  // Keeps names and other short texts of an object, at its top level and in its metadata.
  static Form Few() {
    const auto all = [](std::string_view) { return true; };
    const json::Shape text = json::Shape::Scalar();
    return {json::Shape::Map(all, text).With({{"metadata", json::Shape::Map(all, text)}}), 4096};
  }
  Result<json::Value> Get(const std::string& path = "/api/v1/nodes/n1") {
    return Await<json::Value>([&](auto answer) { client().Get(path, Few(), answer); });
  }
  std::vector<std::string> Targets() const {
    std::vector<std::string> targets;
    for (const fake::Asked& one : asked_) targets.push_back(one.method + " " + one.target);
    return targets;
  }

  os::Loop loop_;
  const std::string directory_ = os::MakeTemporaryDirectory("/tmp/tessera-kube-").value();
  const fake::Certificate authority_ = fake::MakeAuthority("kubernetes");
  std::unique_ptr<fake::Server> server_;
  Handler handler_ = [](const fake::Asked&, fake::Peer&) {};
  std::vector<fake::Asked> asked_;
  std::vector<std::string> observed_;
  Access access_;
  Limits limits_{.per_second = 1000, .burst = 1000};
  std::unique_ptr<Client> client_;
};

// An HTTP answer with a Status object.
inline std::string Refusal(int status, const std::string& reason, const std::string& message,
                           const std::string& headers = "") {
  const json::Object object{{"kind", "Status"},
                            {"status", "Failure"},
                            {"message", message},
                            {"reason", reason},
                            {"code", status}};
  return fake::Answer(status, json::Write(object), headers);
}

}  // namespace tessera::kube
