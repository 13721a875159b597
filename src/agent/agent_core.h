// SPDX-License-Identifier: Apache-2.0
// The parts of the running agent, and how they are connected. One thread: the loop's.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/agent.h"
#include "agent/faults.h"
#include "agent/ledger_sync.h"
#include "agent/pages.h"
#include "agent/reconciler.h"
#include "agent/release.h"
#include "agent/resource_set.h"
#include "agent/routes.h"
#include "agent/state_saver.h"
#include "cdi/cdi_documents.h"
#include "cdi/cdi_reconciler.h"
#include "config/schema/config.h"
#include "fraction/grant_keeper.h"
#include "http/http.h"
#include "http/metrics.h"
#include "json/json.h"
#include "kubelet/root.h"
#include "node/node.h"
#include "os/alarm.h"
#include "os/loop.h"
#include "os/watch.h"
#include "os/worker.h"
#include "prepare/preparation_keeper.h"
#include "report/label_sync.h"
#include "report/node_reporter.h"

namespace tessera::agent {

class Agent : public kubelet::PluginObserver {
 public:
  // `metrics` outlive the process's other threads: a slow reset or endpoint still counts during the
  // shutdown. `schema` read the configuration, and outlives the agent.
  Agent(os::Loop& loop, http::Metrics& metrics, const config::Schema& schema,
        config::Config config);
  ~Agent() override;

  // Starts each part after the parts that it needs.
  Status Start();
  // Adopts another configuration: adds, changes and removes resources, and leaves the others alone.
  void Apply(const config::Config& next);
  // Why the agent stopped the loop itself; nothing: it did not.
  const std::optional<Error>& fatal() const { return fatal_; }
  http::Metrics& metrics() { return metrics_; }
  // See NodeReporter::AskForNode.
  void AskForNode(std::function<void(const json::Value& node)> answer) {
    node_reporter_.AskForNode(std::move(answer));
  }
  const config::Config& config() const { return config_; }

  void StateChanged(const std::string& resource, kubelet::PluginState state) override;
  void Registered(const std::string& resource, const Status& status) override;
  void StreamsChanged(const std::string& resource, int streams) override;
  void ListSent(const std::string& resource, size_t bytes) override;

 private:
  void RestoreState(const std::string& boot_id);
  void FindKubelet();
  void UseKubelet(const kubelet::Directories& directories, kubelet::RegistrationPath path);
  void WatchKubelet();
  void WatchDirectories();
  void PollKubelet();
  void SchedulePoll();
  bool IsOnlyInstance() const;
  void Tick();
  bool HasUnfinished() const;
  void OpenControlSocket();
  void OpenStatusPort();
  void ResourcesChanged();
  void AllocatableCompared(const std::optional<std::map<std::string, int>>& allocatable);
  void CountPlanted(int sockets);
  RouteSources Routes();
  // Conditions of the node that block the agent; agent_faults.cc.
  Faults FaultsNow() const;
  View MakeView() const;
  std::set<std::string> HeldNames() const;

  // Each part may use the parts before it, so the order of these members matters. The resources
  // report to the reconciler, which publishes their lists.
  os::Loop& loop_;
  const config::Schema& schema_;
  config::Config config_;
  http::Metrics& metrics_;
  os::Workers workers_;
  Node node_;
  StateSaver saver_{node_, metrics_, config_.state_dir};
  os::Alarm tick_;  // rings while work is unfinished, and when a device becomes stale
  NodeReporter node_reporter_{loop_, node_, metrics_, [this] { return saver_.another_writes(); },
                              [this] { labels_.ReadSoon(); }};
  CdiDocuments cdi_{metrics_, os::Root(config_.root_prefix),
                    [this](const CdiError& trouble) { node_reporter_.ReportCdiError(trouble); }};
  LabelSync labels_{
      {.loop = loop_,
       .may_write = [this] { return saver_.writer(); },
       .to_node = [this](const Labels& labels) { return node_reporter_.SetLabels(labels); },
       .labellers =
           [this](const config::Config& next) { return LabellersOf(schema_.kinds(), next); }},
      config_};
  const std::shared_ptr<BindContext> context_ = std::make_shared<BindContext>();
  GrantKeeper grants_;
  PreparationKeeper preparations_;
  ResourceSet resources_;
  Reconciler reconciler_;
  Release release_{loop_, LibrariesOf(resources_), config_.state_dir + "/release.jsonl"};
  CdiReconciler cdi_reconciler_{
      loop_, config_.kubelet.poll, cdi_,
      CdiConflicts(cdi_, metrics_, config_.state_dir + "/cdi-documents"),
      CdiReconciler::Situation{
          .another_writes = [this] { return saver_.another_writes(); },
          .alone = [this] { return resources_.AllStreaming() && IsOnlyInstance(); },
          .described = [this] { return resources_.AllDescribed(); },
          .held = [this] { return HeldNames(); }}};

  // kubelet's location and registration path, and the parts that depend on them.
  kubelet::Directories directories_;
  bool seeking_ = false;  // kubelet's directories are absent or incomplete
  kubelet::RegistrationPath path_ = kubelet::RegistrationPath::kKubeletSocket;
  std::unique_ptr<LedgerSync> ledger_sync_;
  std::unique_ptr<os::DirectoryWatch> kubelet_watch_;
  Steady restless_until_{};
  os::Loop::Handle poll_;

  std::unique_ptr<http::Server> control_;
  std::unique_ptr<http::Server> status_;
  std::optional<Error> control_refusal_;  // why the control socket is closed, logged once
  std::string port_refusal_;              // why the status port is closed, logged once
  std::optional<Error> fatal_;
};

}  // namespace tessera::agent
