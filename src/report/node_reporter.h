// SPDX-License-Identifier: Apache-2.0
// Reports the node's changes to the API server. Falls, returns and CDI errors are reported at once.
// The condition and the registration with HAMi's scheduler follow shortly after a change, but not
// before all devices are checked. Objects of former agents that are no longer wanted are removed.
// During a rolling update only the writer of the state reports. Owned by the agent. One thread: the
// loop's.
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
  // `silent`: true while another instance reports. `came`: an API server was found after Open. All
  // arguments outlive it.
  NodeReporter(os::Loop& loop, const Node& node, http::Metrics& metrics,
               std::function<bool()> silent, std::function<void()> came);

  // Searches for an API server, and logs the result. Repeats the search while it finds none.
  void Open(const config::Config& config, const std::string& host_name);
  // Adopts another configuration of the resources.
  void Apply(const config::Config& config);
  // All devices are checked, or the time for that is over.
  void StartReporting();
  void ReportTransitions(const std::string& source, const std::vector<Transition>& steps);
  void ReportCdiError(const CdiError& trouble);
  void ReportSpaceCut(const GrantSpace::Cut& cut);
  // The condition or the registration may have changed.
  void Changed();
  // Sets the node's labels; false if there is no API server.
  bool SetLabels(const Labels& labels);
  // Watches this node's pods once there is an API server. `resources`: those whose grants depend on
  // pods' requests; none: no watch. `vendor`: of their devices, never null.
  void FollowPods(std::shared_ptr<BindContext> context, std::set<std::string> resources,
                  const VendorRow* vendor);
  // Reads the node once there is an API server, and calls `answer` on the loop's thread. A later
  // call replaces an unanswered one.
  void AskForNode(std::function<void(const json::Value& node)> answer);

 private:
  void SearchApiServer();
  void WatchPods();
  void TellNode();
  void TellCondition();
  void TellObstacles();
  void TellRegistration();
  void TellAsymmetric(const std::vector<std::string>& pairs);
  void Register();
  void RegistrationRemoved();
  void FormerRemoved(const std::set<std::string>& words);
  void QueryNode();
  void NodeAnswered(const json::Value& node);
  void RetireConditions();
  void ConditionsRetired();
  // The configured condition: one or none.
  std::set<std::string> WantedConditions() const;

  const Node& node_;
  http::Metrics& metrics_;
  const std::function<bool()> silent_;
  const std::function<void()> came_;
  config::ApiConfig config_;
  std::string state_dir_;
  std::string node_name_;
  std::optional<ApiSearch> search_;                     // while there is no API server
  std::unique_ptr<ApiServer> server_;                   // null: there is no API server
  std::function<void(const json::Value&)> node_query_;  // unanswered AskForNode
  std::shared_ptr<BindContext> context_;
  std::set<std::string> pod_resources_;
  const VendorRow* pod_vendor_ = nullptr;  // of these
  bool begun_ = false;
  bool retired_ = false;  // RetireConditions was called
  std::optional<kube::Condition> told_;
  std::map<std::string, Error> told_obstacles_;  // by resource; the current ones
  std::vector<config::Resource> resources_;
  bool registration_looked_at_ = false;           // a former one was looked for
  std::optional<HamiRegistration> registration_;  // as last reported
  std::set<std::string> told_asymmetric_;         // current pairs of GPUs
  os::Alarm tell_;
  os::Alarm search_again_;
  os::Mailbox<NodeReporter> mailbox_;
};

}  // namespace tessera
