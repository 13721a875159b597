// SPDX-License-Identifier: Apache-2.0
// Latencies of the shipped binary while clients flood its status port. Thousands of connections are
// idle, send single bytes, end in a request, or ask for pages without reading them. A closed one is
// replaced. Calls with and without the flood take turns, and each turn has its ratio.
//
// Prints a table for connections without requests for pages, and one with them. Exits with 1 if
// memory or /healthz exceeds its bound in either, or Allocate in the first. In the second, making
// pages takes a core that a machine of two cannot spare.
//
// usage: bench_storm [CONNECTIONS [SECONDS]]
#include <fmt/core.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "bench/wire/table.h"
#include "http/blocking.h"
#include "http/http.h"
#include "os/descriptors.h"
#include "os/fd.h"
#include "os/files.h"

namespace tessera::bench {
namespace {

using std::chrono::milliseconds;

constexpr double kMostGrown = 8;        // MB
constexpr double kMostSlower = 1.5;     // times
constexpr double kMostHealthz = 1'000;  // ms
constexpr int kMadeATurn = 20;          // connections, in each turn of this length:
constexpr milliseconds kTurn{10};

// Connects from an address of its own on this machine.
os::Fd Connect(uint16_t port, uint32_t number) {
  os::Fd fd(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(0x7f000002U + number % 60'000);
  if (bind(fd.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0) return {};
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  at.sin_port = htons(port);
  const int connected = connect(fd.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at);
  return connected == 0 || errno == EINPROGRESS ? std::move(fd) : os::Fd();
}

class Storm {
 public:
  Storm(uint16_t port, size_t connections, bool pages)
      : port_(port), kinds_(pages ? 4 : 3), all_(connections) {
    thread_ = std::jthread([this](const std::stop_token& end) {
      // Real attackers are on other machines, so this thread must not take cores from the agent.
      const sched_param none{};
      (void)sched_setscheduler(0, SCHED_IDLE, &none);
      while (!end.stop_requested()) {
        Turn();
        std::this_thread::sleep_for(kTurn);
      }
    });
  }
  size_t made() const { return made_; }

 private:
  static void Send(const os::Fd& fd, std::string_view bytes) {
    (void)send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  }
  void Begin(size_t i) {
    all_[i] = Connect(port_, static_cast<uint32_t>(made_++));
    begun_[i] = false;
  }
  void Turn() {
    int make = kMadeATurn;
    begun_.resize(all_.size());
    // Does not read; only looks for closed connections.
    std::vector<pollfd> states;
    for (const os::Fd& fd : all_) states.push_back({fd.get(), POLLRDHUP, 0});
    (void)poll(states.data(), states.size(), 0);
    for (size_t i = 0; i < all_.size(); ++i) {
      if (!all_[i].valid() || (states[i].revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0) {
        if (make-- > 0) Begin(i);
        continue;
      }
      constexpr std::string_view kFirst[] = {"", "GET /explain HTTP/1.1\r\nX-Slow: ",
                                             "POST /cordon HTTP/1.1\r\nContent-Length: 1048576\r\n",
                                             "GET /explain HTTP/1.1\r\n\r\n"};
      if (!begun_[i]) Send(all_[i], kFirst[i % kinds_]);
      if (begun_[i] && i % kinds_ == 1 && turns_ % 50 == 0) Send(all_[i], "x");
      begun_[i] = true;
    }
    ++turns_;
  }

  const uint16_t port_;
  const size_t kinds_;  // kinds of first bytes
  std::vector<os::Fd> all_;
  std::vector<bool> begun_;
  size_t turns_ = 0;
  std::atomic<size_t> made_ = 0;
  std::jthread thread_;
};

uint16_t PortOf(const Subject& subject) {
  for (;;) {
    const std::string log = os::ReadFile(subject.directory() + "/log").value_or("");
    const size_t at = log.find(" port=");
    if (at != log.npos && log.find('\n', at) != log.npos) {
      return static_cast<uint16_t>(std::stoi(log.substr(at + 6)));
    }
    std::this_thread::sleep_for(milliseconds(10));
  }
}

struct Figures {
  std::vector<double> allocate;
  std::vector<double> healthz;
  double rss = 0;
};

void Measure(Subject& subject, uint16_t port, milliseconds length, Figures& figures) {
  const auto until = Clock::now() + length;
  for (int i = 0; Clock::now() < until; ++i) {
    auto begin = Clock::now();
    subject.connection().Allocate(i % 64);
    figures.allocate.push_back(Millis(Clock::now() - begin).count());
    if (i % 20 == 0) {
      begin = Clock::now();
      const auto answer = http::CallTcp(fmt::format("127.0.0.1:{}", port),
                                        {"GET", "/healthz", {}, ""}, Duration(5'000));
      // A connection that was closed in favour of others counts as one that timed out.
      figures.healthz.push_back(
          answer && answer->body == "ok\n" ? Millis(Clock::now() - begin).count() : 5'000);
      figures.rss = std::max(figures.rss, subject.rss_mb());
    }
    std::this_thread::sleep_for(milliseconds(1));
  }
}

double Quantile(std::vector<double> values, double share) {
  std::ranges::sort(values);
  return values[static_cast<size_t>(share * static_cast<double>(values.size() - 1))];
}

std::vector<double> Since(size_t begin, const std::vector<double>& values) {
  return {values.begin() + static_cast<ptrdiff_t>(begin), values.end()};
}

bool Held(Subject& subject, uint16_t port, size_t connections, int seconds, bool pages) {
  Figures calm;
  Figures storm;
  size_t made = 0;
  constexpr int kTurns = 10;
  std::vector<double> ratios;  // of p99, one a turn, as the load of the machine varies
  for (int turn = 0; turn < kTurns; ++turn) {
    const size_t calm_before = calm.allocate.size();
    const size_t storm_before = storm.allocate.size();
    Measure(subject, port, milliseconds(seconds * 1'000 / kTurns), calm);
    Storm begun(port, connections, pages);
    std::this_thread::sleep_for(milliseconds(1'000));
    Measure(subject, port, milliseconds(seconds * 1'000 / kTurns), storm);
    made += begun.made();
    ratios.push_back(Quantile(Since(storm_before, storm.allocate), 0.99) /
                     Quantile(Since(calm_before, calm.allocate), 0.99));
  }
  const auto row = [](const std::string& what, double with, double without, const char* unit) {
    Line(what, with, without, unit, "without");
  };
  const double slower = Quantile(ratios, 0.5);
  fmt::print("{} connections at a time{}, {} in all; {} and {} calls of Allocate\n", connections,
             pages ? " that ask for pages too" : "", made, storm.allocate.size(),
             calm.allocate.size());
  row("Allocate, p50", Quantile(storm.allocate, 0.5), Quantile(calm.allocate, 0.5), "ms");
  row("Allocate, p99", Quantile(storm.allocate, 0.99), Quantile(calm.allocate, 0.99), "ms");
  fmt::print("{:<44}{:>11.2f}  of {} turns: {:.2f} to {:.2f}\n", "Allocate, p99, ratio, median",
             slower, kTurns, Quantile(ratios, 0), Quantile(ratios, 1));
  row("/healthz, p50", Quantile(storm.healthz, 0.5), Quantile(calm.healthz, 0.5), "ms");
  row("/healthz, slowest", Quantile(storm.healthz, 1), Quantile(calm.healthz, 1), "ms");
  row("memory, most", storm.rss, calm.rss, "MB");
  return storm.rss - calm.rss <= kMostGrown && (pages || slower <= kMostSlower) &&
         Quantile(storm.healthz, 1) < kMostHealthz;
}

int Run(size_t connections, int seconds) {
  os::RaiseDescriptorLimit();
  setenv("TESSERA_HTTP_ADDRESS", "127.0.0.1:0", 1);  // NOLINT(concurrency-mt-unsafe): no thread yet
  Subject subject(Subject::Kind::kTessera, Npus(64));
  subject.Start();
  const uint16_t port = PortOf(subject);
  Figures warm;
  Measure(subject, port, milliseconds(1'000), warm);
  const bool quiet = Held(subject, port, connections, seconds, false);
  const bool pages = Held(subject, port, connections, seconds, true);
  return quiet && pages ? 0 : 1;
}

}  // namespace
}  // namespace tessera::bench

int main(int argc, char** argv) {
  return tessera::bench::Run(argc > 1 ? std::stoul(argv[1]) : 3'000,
                             argc > 2 ? std::stoi(argv[2]) : 20);
}
