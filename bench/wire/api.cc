// SPDX-License-Identifier: Apache-2.0
// The cost of an API server over TLS for the agent, compared with the same agent without one. Its
// start is compared with the bare server's. Prints a table.
//
// usage: bench_api [start | told]...
#include <fmt/core.h>

#include <atomic>
#include <csignal>
#include <thread>
#include <vector>

#include "api/certificates.h"
#include "api/kubeconfig.h"
#include "api/server.h"
#include "bench/wire/table.h"

namespace tessera::bench {
namespace {

using Kind = Subject::Kind;
using std::chrono::milliseconds;

constexpr int kDevices = 64;
// By then the memory that only the start needed has been given back.
constexpr std::chrono::seconds kUntilRest{15};

// An API server with one node, which accepts every report. A thread of its own.
class ApiServer {
 public:
  ApiServer() : thread_([this] { loop_.Run(); }) {}
  ~ApiServer() { loop_.Stop(); }

  // The further configuration of an agent, with the access in `directory`.
  std::string Settings(const std::string& directory) const {
    const std::string file =
        fake::WriteKubeconfig(directory, server_.port(), authority_.certificate).value();
    return fmt::format("api: {{kubeconfig: {}, nodeName: n1}}\n", file);
  }
  int told() const { return told_; }
  size_t connections() const { return connections_; }

 private:
  void Serve(const fake::Asked& asked, fake::Peer& peer) {
    connections_ = server_.connections();
    if (asked.method == "GET") {
      peer.Send(fake::Answer(200,
                             R"({"kind":"Node","metadata":{"name":"n1","resourceVersion":"1"},)"
                             R"("status":{"conditions":[]}})"));
      return;
    }
    ++told_;
    peer.Send(fake::Answer(asked.method == "POST" ? 201 : 200, asked.body));
  }

  const fake::Certificate authority_ = fake::MakeAuthority("kubernetes");
  const fake::Certificate certificate_ = fake::Issue(authority_, {.names = "IP:127.0.0.1"});
  os::Loop loop_;
  std::atomic<int> told_ = 0;
  std::atomic<size_t> connections_ = 0;
  fake::Server server_{loop_,
                       [this](const fake::Asked& asked, fake::Peer& peer) { Serve(asked, peer); },
                       {.certificate = certificate_.certificate, .key = certificate_.key}};
  std::jthread thread_;
};

MakeServed NpusWith(const ApiServer& api) {
  return [&api](const std::string& directory) {
    return Npus(kDevices, api.Settings(directory))(directory);
  };
}

// A healthy node has no events, so the agent does not connect.
void BenchStart() {
  ApiServer api;
  const auto start = [&](Kind kind, bool with) {
    Subject subject(kind, with ? NpusWith(api) : Npus(kDevices));
    return subject.Start().count();
  };
  Row("exec to first list, with an API server, ms",
      InTurns(20, 1, [&](Kind kind) { return start(kind, kind == Kind::kTessera); }));
  Row("exec to first list, without, ms",
      InTurns(20, 1, [&](Kind kind) { return start(kind, false); }));
  fmt::print("connections made by those starts: {}\n", api.connections());
}

// A failed device makes an event and a condition.
void BenchTold() {
  ApiServer api;
  Subject with(Kind::kTessera, NpusWith(api));
  Subject without(Kind::kTessera, Npus(kDevices));
  with.Start();
  without.Start();
  std::this_thread::sleep_for(kUntilRest);
  Line("memory at rest, nothing told yet", with.rss_mb(), without.rss_mb(), "MB", "without");
  with.Fail(0);
  without.Fail(0);
  while (api.told() < 2) std::this_thread::sleep_for(milliseconds(10));
  Line("memory when it was told of a fall", with.rss_mb(), without.rss_mb(), "MB", "without");
  std::this_thread::sleep_for(kUntilRest);
  Line("memory at rest after that", with.rss_mb(), without.rss_mb(), "MB", "without");
}

const std::vector<Part> kParts = {{"start", BenchStart}, {"told", BenchTold}};

}  // namespace
}  // namespace tessera::bench

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  return tessera::bench::RunParts(argc, argv, tessera::bench::kParts);
}
