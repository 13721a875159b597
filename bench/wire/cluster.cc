// SPDX-License-Identifier: Apache-2.0
// The shipped scheduler at the API server of a large cluster: 8 GPUs a node, half of each granted.
// Figures: time until ready, memory then, time of a filter call over the wire, and time until new
// nodes are known. Prints a table. "bare" is the same call to an unknown path, which is read and
// refused.
//
// usage: bench_cluster [NODES]
#include <fmt/core.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "api/certificates.h"
#include "api/kubeconfig.h"
#include "api/server.h"
#include "hami/node_register.h"
#include "hami/vendor.h"
#include "http/blocking.h"
#include "json/json.h"
#include "os/address.h"
#include "os/fd.h"
#include "os/files.h"
#include "os/process.h"

namespace tessera::bench {
namespace {

using Clock = std::chrono::steady_clock;
using Millis = std::chrono::duration<double, std::milli>;

constexpr int kGpus = 8;
constexpr int kNew = 1'000;
constexpr int kCalls = 400;
constexpr Duration kPatience{60'000};
// Padding for a pod's or node's other fields: status, conditions, images, managedFields.
const std::string kBallast(3'000, 'x');

std::string NodeName(int node) {
  return fmt::format("node-{:05}.cluster.example", node);
}
std::string GpuId(int node, int gpu) {
  return fmt::format("GPU-{:08}-0000-0000-0000-00000000000{}", node, gpu);
}

std::string NodeText(int node) {
  std::vector<hami::RegisteredDevice> gpus;
  for (int i = 0; i < kGpus; ++i) {
    gpus.push_back({.id = GpuId(node, i),
                    .index = static_cast<uint32_t>(i),
                    .count = 10,
                    .devmem = 81920,
                    .devcore = 100,
                    .type = "NVIDIA A100-SXM4-80GB",
                    .numa = i / 4,
                    .health = true});
  }
  const json::Object annotations{{hami::kNvidia.node_register, hami::EncodeRegister(gpus)}};
  return fmt::format(
      R"({{"metadata":{{"name":"{0}","uid":"uid-{0}","resourceVersion":"1","annotations":{1},)"
      R"("managedFields":[{{"manager":"{2}"}}]}}}})",
      NodeName(node), json::Write(annotations), kBallast);
}

// A pod with half of a GPU's memory and compute time.
std::string PodText(int pod) {
  const int node = pod / kGpus;
  return fmt::format(
      R"({{"metadata":{{"name":"pod-{0}","namespace":"team","uid":"uid-{0}","resourceVersion":"1",)"
      R"("annotations":{{"{1}":"{2},NVIDIA,40960,50:;"}},"managedFields":[{{"manager":"{4}"}}]}},)"
      R"("spec":{{"nodeName":"{3}","containers":[{{"name":"main","resources":{{"limits":)"
      R"({{"nvidia.com/gpu":"1","nvidia.com/gpumem":"40960","nvidia.com/gpucores":"50"}}}}}}]}},)"
      R"("status":{{"phase":"Running"}}}})",
      pod, hami::kNvidia.pod_allocated, GpuId(node, pod % kGpus), NodeName(node), kBallast);
}

std::string CallOf(int first, int nodes) {
  std::string names;
  for (int n = first; n < first + nodes; ++n) {
    names += fmt::format("{}\"{}\"", n == first ? "" : ",", NodeName(n));
  }
  return R"({"Pod":{"metadata":{"name":"train","namespace":"team","uid":"uid","resourceVersion":"1"},)"
         R"("spec":{"containers":[{"name":"main","resources":{"limits":{"nvidia.com/gpu":"1",)"
         R"("nvidia.com/gpumem":"3000"}}}]}},"Nodes":null,"NodeNames":[)" +
         names + "]}";
}

// An API server of `nodes` nodes with their pods. A thread of its own.
class ApiServer {
 public:
  explicit ApiServer(int nodes) : nodes_(nodes), thread_([this] { loop_.Run(); }) {}
  ~ApiServer() { loop_.Stop(); }

  std::string Kubeconfig(const std::string& directory) const {
    return fake::WriteKubeconfig(directory, server_.port(), authority_.certificate).value();
  }
  // Adds `count` nodes, one event each.
  void AddNodes(int count) {
    loop_.Post([this, count] {
      for (int n = nodes_; n < nodes_ + count; ++n) {
        node_watch_->Send(fake::Chunk(R"({"type":"ADDED","object":)" + NodeText(n) + "}\n"));
      }
    });
  }

 private:
  void Serve(const fake::Asked& asked, fake::Peer& peer) {
    if (asked.method != "GET") return peer.Send(fake::Answer(201, asked.body));
    const bool of_nodes = asked.target.starts_with("/api/v1/nodes?");
    const bool of_pods = asked.target.starts_with("/api/v1/pods?");
    if (asked.target.find("watch=") != std::string::npos) {
      if (of_nodes) node_watch_ = &peer;
      return peer.Send(fake::ChunkedHead());
    }
    if (of_nodes) return peer.Send(Page(asked.target, nodes_, NodeText));
    if (of_pods) return peer.Send(Page(asked.target, kGpus * nodes_, PodText));
    if (asked.target.find('?') == std::string::npos) return peer.Send(fake::Answer(404, "{}"));
    peer.Send(Page(asked.target, 0, PodText));
  }
  static int NumberIn(const std::string& target, const std::string& name, int otherwise) {
    const size_t at = target.find(name + "=");
    return at == std::string::npos ? otherwise : std::atoi(&target[at + name.size() + 1]);
  }
  static std::string Page(const std::string& target, int all, std::string (*text)(int)) {
    const int first = NumberIn(target, "continue", 0);
    const int end = std::min(all, first + NumberIn(target, "limit", all));
    std::string items;
    for (int i = first; i < end; ++i) items += (i == first ? "" : ",") + text(i);
    const std::string more = end < all ? fmt::format(R"(,"continue":"{}")", end) : "";
    return fake::Answer(
        200, R"({"metadata":{"resourceVersion":"1")" + more + R"(},"items":[)" + items + "]}");
  }

  const int nodes_;
  const fake::Certificate authority_ = fake::MakeAuthority("kubernetes");
  const fake::Certificate certificate_ = fake::Issue(authority_, {.names = "IP:127.0.0.1"});
  os::Loop loop_;
  fake::Peer* node_watch_ = nullptr;
  fake::Server server_{loop_,
                       [this](const fake::Asked& asked, fake::Peer& peer) { Serve(asked, peer); },
                       {.certificate = certificate_.certificate, .key = certificate_.key}};
  std::jthread thread_;
};

// An address without a listener, as far as this process can tell.
std::string FreeAddress() {
  const os::Fd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof at;
  auto* address = reinterpret_cast<sockaddr*>(&at);
  if (bind(fd.get(), address, size) != 0 || getsockname(fd.get(), address, &size) != 0) return "";
  return fmt::format("127.0.0.1:{}", ntohs(at.sin_port));
}

// The shipped binary.
class Scheduler {
 public:
  explicit Scheduler(const ApiServer& api) {
    const std::string config = directory_ + "/scheduler.yaml";
    (void)os::ReplaceFile(config,
                          "version: tessera-scheduler/v1\n"
                          "kubeconfig: " +
                              api.Kubeconfig(directory_) +
                              "\n"
                              "extender: {address: \"" +
                              extender_ +
                              "\"}\n"
                              "status: {address: \"" +
                              status_ +
                              "\"}\n"
                              "webhook: {address: \"" +
                              FreeAddress() +
                              "\"}\n"
                              "lease: {use: false}\n");
    begun_ = Clock::now();
    auto started = os::Process::Start({TESSERA_SCHEDULER, "--config", config}, directory_ + "/log");
    if (started) process_ = *std::move(started);
  }
  ~Scheduler() {
    process_.Signal(SIGTERM);
    process_.Wait();
    (void)os::RemoveTree(directory_);
  }

  Millis AwaitReady() {
    while (!http::CallTcp(status_, {"GET", "/readyz", {}, ""}, kPatience)) {
      if (process_.Poll()) {
        fmt::print("the scheduler ended: {}\n", os::ReadFile(directory_ + "/log").value_or(""));
        std::_Exit(1);
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return Clock::now() - begun_;
  }
  std::string Post(const std::string& path, const std::string& body) const {
    const auto answer = http::CallTcp(extender_, {"POST", path, {}, body}, kPatience);
    return answer ? answer->body : answer.error().message;
  }
  const std::string& extender() const { return extender_; }
  double MegabytesOf(const std::string& name) const {
    std::ifstream status(fmt::format("/proc/{}/status", process_.pid()));
    for (std::string line; std::getline(status, line);) {
      if (line.starts_with(name + ":")) return std::atof(&line[name.size() + 1]) / 1024;
    }
    return 0;
  }

 private:
  const std::string extender_ = FreeAddress();
  const std::string status_ = FreeAddress();
  const std::string directory_ = os::MakeTemporaryDirectory("/tmp/tessera-bench-").value();
  Clock::time_point begun_;
  os::Process process_;
};

// Asks as kube-scheduler does, over one kept connection. Blocking.
class Caller {
 public:
  explicit Caller(const std::string& address)
      : address_(address), socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    at.sin_port = htons(os::PortOf(os::ParseAddress(address).value()));
    if (connect(socket_.get(), reinterpret_cast<sockaddr*>(&at), sizeof at) != 0) std::_Exit(1);
  }

  std::string RequestOf(const std::string& path, const std::string& body) const {
    return fmt::format(
        "POST {} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n"
        "Content-Length: {}\r\n\r\n{}",
        path, address_, body.size(), body);
  }

  // From the first byte sent to the last byte of the answer.
  Millis Ask(std::string_view request) {
    const Clock::time_point begun = Clock::now();
    while (!request.empty()) {
      const ssize_t n = send(socket_.get(), request.data(), request.size(), MSG_NOSIGNAL);
      if (n <= 0) End();
      request.remove_prefix(static_cast<size_t>(n));
    }
    answer_.clear();
    while (answer_.size() < SizeOfAnswer()) {
      const ssize_t n = recv(socket_.get(), part_.data(), part_.size(), 0);
      if (n <= 0) End();
      answer_.append(part_.data(), static_cast<size_t>(n));
    }
    return Clock::now() - begun;
  }

 private:
  // The answer's size if known; until then more than has arrived.
  size_t SizeOfAnswer() const {
    constexpr std::string_view kLength = "Content-Length: ";
    const size_t end = answer_.find("\r\n\r\n");
    const size_t length = answer_.find(kLength);
    if (end == answer_.npos || length > end) return answer_.size() + 1;
    return end + 4 + std::strtoull(&answer_[length + kLength.size()], nullptr, 10);
  }
  [[noreturn]] void End() const {
    fmt::print("the scheduler has closed the connection after \"{}\"\n", answer_);
    std::_Exit(1);
  }

  const std::string address_;
  const os::Fd socket_;
  std::string answer_;
  std::string part_ = std::string(size_t{256} * 1024, '\0');
};

double At(std::vector<double>& sorted, double part) {
  std::ranges::sort(sorted);
  return sorted[static_cast<size_t>(part * static_cast<double>(sorted.size() - 1))];
}

void RowOfFilter(const Scheduler& scheduler, int nodes) {
  Caller caller(scheduler.extender());
  const std::string call = CallOf(0, nodes);
  const std::string to_nobody = caller.RequestOf("/none", call);
  const std::string to_filter = caller.RequestOf("/filter", call);
  std::vector<double> filter;
  std::vector<double> bare;
  for (int i = 0; i < kCalls; ++i) {
    bare.push_back(caller.Ask(to_nobody).count());
    filter.push_back(caller.Ask(to_filter).count());
  }
  fmt::print("{:<32}{:>10.2f}{:>10.2f}{:>14.2f}{:>14.2f}\n",
             fmt::format("filter of {} names, ms", nodes), At(filter, 0.5), At(filter, 0.99),
             At(bare, 0.5), At(bare, 0.99));
}

void Run(int nodes) {
  ApiServer api(nodes);
  Scheduler scheduler(api);
  fmt::print("{} nodes, {} pods\n", nodes, kGpus * nodes);
  fmt::print("{:<32}{:>10.0f}\n", "exec to ready, ms", scheduler.AwaitReady().count());
  fmt::print("{:<32}{:>10.1f}\n", "memory then, MB", scheduler.MegabytesOf("VmRSS"));
  fmt::print("{:<32}{:>10}{:>10}{:>14}{:>14}\n", "", "p50", "p99", "bare p50", "bare p99");
  for (const int names : {1'000, 5'000, 10'000}) {
    if (names <= nodes) RowOfFilter(scheduler, names);
  }
  const Clock::time_point begun = Clock::now();
  api.AddNodes(kNew);
  const std::string call = CallOf(nodes + kNew - 1, 1);
  while (scheduler.Post("/filter", call).find(R"("NodeNames":[")") == std::string::npos) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  fmt::print("{:<32}{:>10.0f}\n", fmt::format("{} new nodes are known, ms", kNew),
             Millis(Clock::now() - begun).count());
  fmt::print("{:<32}{:>10.1f}\n", "most memory, MB", scheduler.MegabytesOf("VmHWM"));
}

}  // namespace
}  // namespace tessera::bench

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  (void)std::setvbuf(stdout, nullptr, _IOLBF, 0);
  for (const int nodes : {1'000, 5'000, 10'000}) {
    if (argc < 2 || nodes == std::atoi(argv[1])) tessera::bench::Run(nodes);
  }
}
