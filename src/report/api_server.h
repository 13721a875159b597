// SPDX-License-Identifier: Apache-2.0
// The agent's writer to the API server: events, the node's condition, its labels, its registration
// with HAMi's scheduler. It has its own thread and loop, so kubelet's calls never wait for the API
// server. The thread starts with the first report. Without an API server there is no object of this
// class. Owned by NodeReporter. Any thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "backend/labeller.h"
#include "config/schema/config.h"
#include "fraction/bind_context.h"
#include "http/metrics.h"
#include "json/json.h"
#include "kube/access.h"
#include "kube/condition.h"
#include "kube/event.h"
#include "os/thread.h"
#include "report/hami_registration.h"

namespace tessera {

class ApiServer {
 public:
  // `metrics` outlive the process's other threads.
  ApiServer(kube::Access access, std::string node, http::Metrics& metrics);
  ~ApiServer();

  void EmitEvents(std::vector<kube::Event> events);
  void SetCondition(const kube::Condition& condition);
  // Removes the conditions of these types that agents set. Calls `gone` on its own thread when
  // there are none, possibly more than once. No types: stops this.
  void RemoveConditions(const std::set<std::string>& types, std::function<void()> gone);
  void SetLabels(const Labels& labels);
  // Watches this node's pods and their requests for these resources, and writes them to `context`.
  // Reports bound and refused containers to the pods by the vendor's annotations, and with events
  // if `events`.
  void WatchPods(std::shared_ptr<BindContext> context, const std::set<std::string>& resources,
                 const hami::Vendor& vendor, bool events);
  // Keeps the registration: checks it every 30 seconds, as HAMi's own plugin does. Removes those of
  // `former`, and calls `gone` on its own thread when there are none, possibly more than once.
  void SetRegistration(const HamiRegistration& registration, const HamiVendors& former,
                       std::function<void()> gone);
  // Removes all registrations of these vendors. `gone` as above; null: stops this.
  void RemoveRegistration(const HamiVendors& vendors, std::function<void()> gone);
  // Reads the node, with retries. Calls `answer` once, on its own thread.
  void AskForNode(std::function<void(const json::Value& node)> answer);

 private:
  struct ApiThread;  // shared with its thread
  void StartThread();

  std::shared_ptr<ApiThread> api_thread_;
  std::shared_ptr<BindContext> context_;  // set by WatchPods
  os::ThreadOnce thread_;
};

// An API server, and this node's name there.
struct ApiTarget {
  kube::Access access;
  std::string node;
};
// The configured API server. Nothing if it is switched off, the agent has no access, or the node's
// name is unknown. `environment` gives NODE_NAME and the address of a pod's API server.
Result<std::optional<ApiTarget>> FindApiServer(const config::ApiConfig& config,
                                               const os::Root& root,
                                               const kube::Environment& environment,
                                               const std::string& host_name);
// The node's name: the configured one, or NODE_NAME, or the machine's name. In a pod the last one
// is the pod's name.
std::string NodeNameOf(const config::ApiConfig& config, const kube::Environment& environment,
                       const std::string& host_name);
// The file that access needs: the kubeconfig or a pod's token. It may appear later. Empty: access
// is impossible.
std::string ApiAccessFile(const config::ApiConfig& config, const os::Root& root,
                          const kube::Environment& environment);

}  // namespace tessera
