// SPDX-License-Identifier: Apache-2.0
// For tests: an agent with a given answer, which records the requests.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>

#include "cli/command/command.h"
#include "http/http.h"
#include "os/files.h"
#include "os/loop.h"

namespace tessera::cli {

// Serves the test's answer on its own control socket, and runs commands against it.
class FakeAgentTest : public testing::Test {
 protected:
  FakeAgentTest() : directory_(os::MakeTemporaryDirectory("/tmp/tessera-cli-").value()) {
    arguments_.Set("control", Socket());
  }
  ~FakeAgentTest() override {
    if (thread_.joinable()) {
      loop_.Stop();
      thread_.join();
    }
    server_.reset();
    (void)os::RemoveTree(directory_);
  }

  std::string Socket() const { return directory_ + "/agent.sock"; }

  // Answers every request with `response`; the request is in `asked_` afterwards.
  void Serve(http::Response response) {
    auto handler = [this, response](const http::Request& request) {
      asked_ += request.method + " " + request.path + " ";
      for (const auto& [name, value] : request.query) asked_ += name + "=" + value + " ";
      asked_ += request.body + "\n";
      return response;
    };
    server_ = http::Server::ListenUnix(loop_, Socket(), handler).value();
    thread_ = std::thread([this] { loop_.Run(); });
  }

  // Runs a command; its exit code is in `code_`, its output in `out_` and `err_`.
  void Run(const Command& command) {
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    code_ = command.run(arguments_);
    out_ = testing::internal::GetCapturedStdout();
    err_ = testing::internal::GetCapturedStderr();
  }

  std::string directory_;
  os::Loop loop_;
  std::unique_ptr<http::Server> server_;
  std::thread thread_;
  Arguments arguments_;
  std::string asked_;  // written on the loop's thread, before the awaited answer
  int code_ = -1;
  std::string out_;
  std::string err_;
};

}  // namespace tessera::cli
