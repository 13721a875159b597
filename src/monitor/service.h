// SPDX-License-Identifier: Apache-2.0
// The monitor: asks the agent who has what, reads containers' regions each second, samples devices,
// and serves the metrics of both. Scrapes read memory alone: a container, an agent or a driver that
// hangs leaves the last values, with their age. One thread: the loop's; blocking calls run on
// workers.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "backend/sampler.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/result.h"
#include "http/http.h"
#include "monitor/feedback.h"
#include "monitor/granted.h"
#include "monitor/sampling.h"
#include "monitor/snapshot.h"
#include "os/files.h"
#include "os/loop.h"
#include "os/mailbox.h"
#include "os/worker.h"

namespace tessera::monitor {

struct Options {
  std::string address{};         // of the metrics: ":9394"
  std::string control_socket{};  // the agent's
  std::string node{};            // until the agent names the node
  os::Root root{};
  std::set<std::string> directories{};  // of the limiter's files, until the agent names its own
  bool legacy = false;                  // with HAMi's older names
  bool dcgm = false;                    // with DCGM's names, at /dcgm/metrics
  FeedbackMode feedback = FeedbackMode::kAuto;
  std::vector<std::shared_ptr<Sampler>> samplers{};
};

class Service {
 public:
  static constexpr Duration kTick{1'000};
  static constexpr Duration kAsk{5'000};  // between questions to the agent
  // A pass that takes longer is stuck at a container's directory. It is left behind, and the
  // directory is left out until it answers.
  static constexpr Duration kStuck{3'000};

  // Serves until it is destroyed. The loop and the clock outlive it.
  static Result<std::unique_ptr<Service>> Start(os::Loop& loop, const Clock& clock,
                                                Options options);

  int port() const { return server_->port(); }
  // One round: begins what is due.
  void Tick();
  // The page of metrics.
  std::string Metrics() const;
  // Ends the feedback in all regions, before the monitor ends. Waits for containers, each for at
  // most a second.
  void EndFeedback() const;

 private:
  using Page = std::shared_ptr<const Result<Granted>>;
  using Containers = std::shared_ptr<const std::vector<Container>>;
  // Which directory a pass of reading is at, for the loop, which sees that it is stuck there.
  struct Pass {
    Mutex mutex;
    std::string at TESSERA_GUARDED_BY(mutex);
  };

  Service(os::Loop& loop, const Clock& clock, Options options);
  void Ask();
  void TakePage(const Page& page);
  void Read();
  void TakeReading(const std::shared_ptr<Pass>& pass, const Result<Containers>& reading);
  void LeaveBehind();
  void CountUnreadable();
  void Write(std::vector<FeedbackWrite> writes);
  void TakeWritten(const std::string& file);
  Snapshot Now() const;
  http::Response Answer(const http::Request& request) const;

  const Clock& clock_;
  const Options options_;
  // Shared with the worker that reads, as is containers_: thousands are not copied on the loop.
  std::shared_ptr<const Granted> granted_;
  std::optional<Steady> granted_at_;
  std::optional<Steady> read_at_;
  std::string agent_trouble_;  // of the last question; logged once
  bool is_asking_ = false;
  std::shared_ptr<Pass> pass_;  // under way; null: none
  Steady pass_began_{};
  std::string reading_trouble_;  // of the last pass; logged once
  // Directories that do not answer, with the pass that is stuck there.
  std::map<std::string, std::shared_ptr<Pass>> stuck_;
  Steady ask_at_{};
  Containers containers_ = std::make_shared<const std::vector<Container>>();  // as last read
  // By file: why it was unreadable at the last reading.
  std::map<std::string, Reason> unreadable_;
  std::map<std::string, uint64_t> became_unreadable_;  // by reason
  std::vector<std::unique_ptr<Sampling>> samplings_;
  os::Loop::Handle timer_;
  Feedback feedback_;
  std::set<std::string> writing_;  // regions with a write under way, which may hang
  os::Workers workers_{18};        // one asks, one reads, the others are stuck
  os::Workers writers_{16};
  std::unique_ptr<http::Server> server_;
  os::Mailbox<Service> mailbox_;
};

}  // namespace tessera::monitor
