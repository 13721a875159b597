// SPDX-License-Identifier: Apache-2.0
// Decides what of the node's devices the API server is told, and when: each fall and return, and
// trouble with CDI documents, at once, the condition shortly after whatever may change it, and not
// before all devices were looked at, and so the registration with HAMi's scheduler. What an agent
// before this one has put there and is no longer wanted is taken away. Of two instances (a rolling
// update) the writer of the state tells. Owned by the agent. One thread: the loop's.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cdi/cdi_error.h"
#include "config/schema/config.h"
#include "fraction/grant_space.h"
#include "http/metrics.h"
#include "json/json.h"
#include "node/node.h"
#include "os/alarm.h"
#include "os/loop.h"
#include "os/mailbox.h"
#include "report/api_search.h"
#include "report/api_server.h"
#include "report/hami_registration.h"

namespace tessera {

class NodeReporter {
 public:
  // `silent`: another instance tells. `came`: there is somebody to tell, which was not so when it
  // was opened. All that is given outlives it.
  NodeReporter(os::Loop& loop, const Node& node, http::Metrics& metrics,
               std::function<bool()> silent, std::function<void()> came);

  // Finds out whether there is an API server to tell, which the log says; where there is none yet,
  // now and then.
  void Open(const config::Config& config, const std::string& host_name);
  // Another configuration of the resources.
  void Apply(const config::Config& config);
  // All devices were looked at, or have had the time for it.
  void StartReporting();
  void ReportTransitions(const std::string& source, const std::vector<Transition>& steps);
  void ReportCdiError(const CdiError& trouble);
  void ReportSpaceCut(const GrantSpace::Cut& cut);
  // What the condition and the registration are about may have changed.
  void Changed();
  // The labels that the node is to have; false where there is nobody to tell.
  bool SetLabels(const Labels& labels);
  // Has this node's pods followed, from when there is somebody to ask, where grants go by what they
  // ask of these resources; none: they do not.
  void FollowPods(std::shared_ptr<BindContext> context, std::set<std::string> resources);
  // The node as the API server has it: `answer` is called once it has said so, on the loop's
  // thread; not before there is somebody to ask. Of several, the last one counts.
  void AskForNode(std::function<void(const json::Value& node)> answer);

 private:
  void SearchApiServer();
  void WatchPods();
  void TellNode();
  void TellCondition();
  void TellObstacles();
  void TellRegistration();
  void TellAsymmetric(const std::vector<std::string>& pairs);
  void RegistrationRemoved();
  void QueryNode();
  void NodeAnswered(const json::Value& node);
  void RetireConditions();
  void ConditionsRetired();
  // Those that the configuration wants: one or none.
  std::set<std::string> WantedConditions() const;

  const Node& node_;
  http::Metrics& metrics_;
  const std::function<bool()> silent_;
  const std::function<void()> came_;
  config::ApiConfig config_;
  std::string state_dir_;
  std::string node_name_;
  std::optional<ApiSearch> search_;                     // while there is nobody to tell
  std::unique_ptr<ApiServer> server_;                   // none: there is nobody to tell
  std::function<void(const json::Value&)> node_query_;  // what the node is, until it is told
  std::shared_ptr<BindContext> context_;
  std::set<std::string> pod_resources_;
  bool begun_ = false;
  bool retired_ = false;  // conditions that the configuration no longer names, or they are about to
  std::optional<kube::Condition> told_;
  std::map<std::string, Error> told_obstacles_;  // by resource, for as long as they are
  std::vector<config::Resource> resources_;
  bool registration_looked_at_ = false;           // whether there is one of before
  std::optional<HamiRegistration> registration_;  // that was told
  std::set<std::string> told_asymmetric_;         // pairs of GPUs, for as long as they are
  os::Alarm tell_;
  os::Alarm search_again_;
  os::Mailbox<NodeReporter> mailbox_;
};

}  // namespace tessera
