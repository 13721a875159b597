// SPDX-License-Identifier: Apache-2.0
// The shipped monitor on a node with many containers: the time of a scrape, beside a server that
// sends the same bytes from memory; its memory; its CPU time. The agent is a socket with a page.
//
// usage: bench_monitor [CONTAINERS]
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "http/blocking.h"
#include "http/http.h"
#include "http/metrics.h"
#include "limiter/contract.h"
#include "os/files.h"
#include "os/loop.h"
#include "os/process.h"

namespace tessera::bench {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr int kScrapes = 200;
constexpr int kPerGpu = 64;
constexpr Duration kPatience{20'000};

std::string Uuid(int gpu) {
  return fmt::format("GPU-00000000-0000-0000-0000-{:012}", gpu);
}
std::string Grant(int i) {
  return fmt::format("{:032x}", i);
}

// The region of a container with one process. Written with holes, as the agent's are.
void WriteRegion(const std::string& path, int gpu) {
  const std::string uuid = Uuid(gpu);
  const limiter::RegionDevice device{.uuid = uuid.c_str(), .bytes = 1U << 30U, .cores = 10};
  std::unique_ptr<limiter::Region, decltype(&free)> region(
      static_cast<limiter::Region*>(calloc(1, sizeof(limiter::Region))), free);
  limiter::MakeRegion({.devices = &device, .count = 1}, region.get());
  region->accounting.slots_used = 1;
  region->accounting.slots[0].owner = 17;
  region->accounting.slots[0].share[0] = 1000;
  region->accounting.devices[0].total.low = 1000;
  region->hami.slots[0].pid = 17;
  region->hami.slots[0].status = limiter::kHamiSlotRuns;
  region->hami.last_kernel_time = 1;
  (void)os::ReplaceFile(
      path, {reinterpret_cast<const char*>(region.get()), sizeof(limiter::Region)}, 0644);
}

std::string Page(int containers) {
  std::string page = R"({"node":"worker-1","directories":["/vgpu"],"containers":[)";
  for (int i = 0; i < containers; ++i) {
    page += fmt::format(
        R"({}{{"namespace":"team","pod":"train-{}","uid":"0c6a3b1e-0000-0000-0000-{:012}",)"
        R"("container":"main","resource":"nvidia.com/gpu","division":"vgpu","grant":"{}",)"
        R"("directory":"/vgpu/containers/{}",)"
        R"("devices":[{{"device":"{}","memoryBytes":1073741824,"cores":10}}]}})",
        i == 0 ? "" : ",", i, i, Grant(i), Grant(i), Uuid(i / kPerGpu));
  }
  return page + "]}";
}

// A loop with servers, on a thread of its own.
class Servers {
 public:
  ~Servers() {
    loop_.Stop();
    thread_.join();
  }
  os::Loop& loop() { return loop_; }
  void Start() {
    thread_ = std::thread([this] { loop_.Run(); });
  }

 private:
  os::Loop loop_;
  std::thread thread_;
};

std::string Scrape(int port) {
  const http::Request request{.path = "/metrics", .query = {}, .body = ""};
  const auto response = http::CallTcp(fmt::format("127.0.0.1:{}", port), request, kPatience);
  return response ? response->body : "";
}

std::vector<double> TimeScrapes(int port) {
  std::vector<double> times;
  for (int i = 0; i < kScrapes; ++i) {
    const auto began = steady_clock::now();
    if (Scrape(port).empty()) return {0};
    times.push_back(std::chrono::duration<double, std::milli>(steady_clock::now() - began).count());
  }
  std::ranges::sort(times);
  return times;
}

void Row(const std::string& what, double value, double base) {
  fmt::print("{:40} {:10.2f} {:10.2f} {:8.2f}\n", what, value, base, value / base);
}

double CpuSeconds(pid_t pid) {
  const std::vector<std::string> stat = os::StatOf(std::to_string(pid));
  if (stat.size() < 13) return 0;
  return (std::strtod(stat[11].c_str(), nullptr) + std::strtod(stat[12].c_str(), nullptr)) / 100;
}

double RssMegabytes(pid_t pid) {
  const std::string status = os::ReadFile(fmt::format("/proc/{}/status", pid)).value_or("");
  const size_t at = status.find("VmRSS:");
  return at == std::string::npos ? 0 : std::strtod(status.c_str() + at + 6, nullptr) / 1024;
}

int FreePort() {
  os::Loop loop;
  const auto none = [](const http::Request&) { return http::Text(""); };
  return http::Server::ListenTcp(loop, "127.0.0.1:0", none).value()->port();
}

int Run(int containers) {
  const std::string directory = os::MakeTemporaryDirectory("/tmp/tessera-bench-").value();
  for (int i = 0; i < containers; ++i) {
    const std::string own = directory + "/vgpu/containers/" + Grant(i);
    (void)os::MakeDirectories(own, 0755);
    WriteRegion(own + "/" + Grant(i) + ".cache", i / kPerGpu);
  }
  Servers servers;
  const std::string page = Page(containers);
  std::string kept;
  auto agent = http::Server::ListenUnix(servers.loop(), directory + "/agent.sock",
                                        [&](const auto&) { return http::Response{.body = page}; });
  auto bare = http::Server::ListenTcp(servers.loop(), "127.0.0.1:0",
                                      [&](const auto&) { return http::Text(kept); });
  servers.Start();

  (void)os::ReplaceFile(directory + "/tessera.yaml",
                        "version: tessera/v1\nresources: [{name: dummy.com/npu, dummy: {}}]\n",
                        0644);
  const int port = FreePort();
  auto monitor =
      os::Process::Start({TESSERA_BINARY, "monitor", "--listen", fmt::format("127.0.0.1:{}", port),
                          "--control", directory + "/agent.sock", "--root-prefix", directory,
                          "--config", directory + "/tessera.yaml"},
                         directory + "/log");
  const auto limit = steady_clock::now() + std::chrono::seconds(20);
  const std::string last = fmt::format(
      R"(tessera_container_memory_used_bytes{{namespace="team",pod="train-{}")", containers - 1);
  while (kept.find(last) == std::string::npos && steady_clock::now() < limit) {
    std::this_thread::sleep_for(milliseconds(100));
    kept = Scrape(port);
  }
  fmt::print("{} containers, a page of {:.1f} MB\n{:40} {:>10} {:>10} {:>8}\n", containers,
             static_cast<double>(kept.size()) / 1e6, "", "monitor", "baseline", "ratio");
  const auto base = TimeScrapes((*bare)->port());
  const auto times = TimeScrapes(port);
  Row("scrape, p50, ms (baseline: from memory)", times[times.size() / 2], base[base.size() / 2]);
  Row("scrape, p99, ms", times[times.size() * 99 / 100], base[base.size() * 99 / 100]);
  Row("RSS, MB (baseline: bound)", RssMegabytes(monitor->pid()), 30);
  const double before = CpuSeconds(monitor->pid());
  std::this_thread::sleep_for(std::chrono::seconds(10));
  Row("CPU, percent of a core (baseline: 1)", (CpuSeconds(monitor->pid()) - before) * 10, 1);
  monitor->Signal(SIGTERM);
  monitor->Wait();
  (void)os::RemoveTree(directory);
  return 0;
}

}  // namespace
}  // namespace tessera::bench

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  return tessera::bench::Run(argc > 1 ? std::atoi(argv[1]) : 1000);
}
