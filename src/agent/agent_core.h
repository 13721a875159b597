// SPDX-License-Identifier: Apache-2.0
// The parts of the running agent and how they are tied together. One thread: the loop's.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/agent.h"
#include "agent/announcer.h"
#include "agent/cdi/cdi_documents.h"
#include "agent/cdi/cdi_guard.h"
#include "agent/faults.h"
#include "agent/label_sync.h"
#include "agent/ledger_sync.h"
#include "agent/node.h"
#include "agent/pages.h"
#include "agent/release.h"
#include "agent/resource_set.h"
#include "agent/routes.h"
#include "agent/state_store.h"
#include "config/schema/config.h"
#include "http/http.h"
#include "http/metrics.h"
#include "json/json.h"
#include "kubelet/root.h"
#include "os/alarm.h"
#include "os/loop.h"
#include "os/watch.h"
#include "os/worker.h"

namespace tessera::agent {

class Agent : public NodeObserver, public kubelet::PluginObserver {
 public:
  // `metrics` outlive the process's other threads: a reset or an endpoint that takes long at the
  // end counts even then.
  Agent(os::Loop& loop, http::Metrics& metrics, config::Config config);
  ~Agent() override;

  // Starts everything, in the order in which the parts need each other.
  Status Start();
  // Takes another configuration over: resources added, changed and removed, the others untouched.
  void Apply(const config::Config& next);
  // Why the agent cannot go on, once it has stopped the loop by itself.
  const std::optional<Error>& fatal() const { return fatal_; }
  http::Metrics& metrics() { return metrics_; }
  // As Announcer::AskForNode.
  void AskForNode(std::function<void(const json::Value& node)> answer) {
    announcer_.AskForNode(std::move(answer));
  }
  const config::Config& config() const { return config_; }

  void SourceChanged(const std::string& source, bool bad_news) override;
  void Transitions(const std::string& source, const std::vector<Transition>& steps) override;
  void Unsaved() override { tick_.Within(kTick); }
  void StateChanged(const std::string& resource, kubelet::PluginState state) override;
  void Registered(const std::string& resource, const Status& status) override;
  void StreamsChanged(const std::string& resource, int streams) override;
  void ListSent(const std::string& resource, size_t bytes) override;

 private:
  void RestoreState();
  void FindKubelet();
  void UseKubelet(const kubelet::Directories& directories, kubelet::RegistrationPath path);
  void WatchKubelet();
  void WatchDirectories();
  void Look();
  void LookAgain();
  bool Alone() const;
  void Tick();
  bool Unfinished() const;
  void OpenControlSocket();
  void OpenStatusPort();
  void ResourcesChanged();
  void Compared(const std::optional<std::map<std::string, int>>& allocatable);
  static constexpr Duration kTick{1'000};

  // Write what is not saved yet; without the lock, nothing.
  Status SaveVerdicts();
  void SaveFalls();
  Status SaveFacts();
  std::string AllVerdicts() const;
  void CountUnusable(Reason reason, int files = 1) {
    metrics_.Add(http::Metric::kUnusable, {std::string(ReasonName(reason))}, files);
  }
  // Tells how a write went, once.
  Status Noted(const Status& written);
  void SaveAll();
  Status MaySave() const;
  void AnnounceReady();
  RouteSources Routes();
  // What of the node is in its way; agent_faults.cc.
  Faults FaultsNow() const;
  View MakeView() const;
  std::set<std::string> HeldNames() const;

  os::Loop& loop_;
  config::Config config_;
  http::Metrics& metrics_;
  os::Workers workers_;
  StateStore store_;
  std::string boot_id_;
  uint64_t saved_facts_ = 0;  // their generation
  Node node_;
  kubelet::Directories directories_;
  bool seeking_ = false;  // kubelet has not come yet, or not wholly
  kubelet::RegistrationPath path_ = kubelet::RegistrationPath::kKubeletSocket;
  std::unique_ptr<LedgerSync> ledger_sync_;
  Announcer announcer_{loop_, node_, metrics_, [this] { return store_.another_writes(); },
                       [this] { labels_.Soon(); }};
  CdiDocuments cdi_{metrics_, os::Root(config_.root_prefix),
                    [this](const CdiTrouble& trouble) { announcer_.CdiTroubled(trouble); }};
  const std::shared_ptr<PodBook> book_ = std::make_shared<PodBook>();
  ResourceSet resources_;
  Release release_{loop_, resources_, config_.state_dir + "/release.jsonl"};
  CdiGuard cdi_guard_{
      loop_, config_.kubelet.poll, cdi_,
      CdiNeighbours(cdi_, metrics_, config_.state_dir + "/cdi-documents"),
      CdiGuard::Situation{.another_writes = [this] { return store_.another_writes(); },
                          .alone = [this] { return resources_.AllStreaming() && Alone(); },
                          .described = [this] { return resources_.AllDescribed(); },
                          .held = [this] { return HeldNames(); }}};
  LabelSync labels_{
      {.loop = loop_,
       .may_write = [this] { return store_.writer(); },
       .to_node = [this](const Labels& labels) { return announcer_.SetLabels(labels); }},
      config_};
  uint64_t labelled_facts_ = 0;  // their generation when the labels were last asked for
  std::unique_ptr<os::DirectoryWatch> kubelet_watch_;
  std::unique_ptr<http::Server> control_;
  std::unique_ptr<http::Server> status_;
  std::optional<Error> control_refusal_;  // why the control socket is not open, logged once
  std::string port_refusal_;              // likewise the status port
  std::optional<Error> unsaved_;          // why the last write failed, as it was logged
  bool announced_ = false;                // READY=1 was sent
  const Steady began_ = SystemClock().Now();
  std::optional<Error> fatal_;
  os::Alarm tick_;  // rings while something is unfinished, and when a device becomes stale
  Steady restless_until_{};
  os::Loop::Handle poll_;
};

}  // namespace tessera::agent
