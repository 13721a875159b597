// SPDX-License-Identifier: Apache-2.0
// What the agent tells the API server: events, the node's condition, its labels, and what HAMi's
// scheduler is to know of it. It has a thread and a loop of its own, which begin with the first
// thing there is to tell: nothing that serves kubelet waits for the API server, and where none is
// configured there is no object of this class.
// Owned by the agent; any thread.
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
  // Has the conditions of these types taken away that agents put there, and says, on its own
  // thread, when there are none any more: now and then, until it is told of no types.
  void RemoveConditions(const std::set<std::string>& types, std::function<void()> gone);
  void SetLabels(const Labels& labels);
  // Has the pods of this node followed, in this context, as far as these resources of theirs go;
  // and has them told what becomes of their containers, with events where there are to be any.
  void WatchPods(std::shared_ptr<BindContext> context, const std::set<std::string>& resources,
                 bool events);
  // Looked at every 30 seconds from then on, as HAMi's own plugin does.
  void SetRegistration(const HamiRegistration& registration);
  // Has it taken away, and says, on its own thread, when there is none any more: now and then,
  // until it is told of nobody to tell.
  void RemoveRegistration(std::function<void()> gone);
  // The node as the API server has it, asked for until it answers; `answer` is called once, on the
  // API server's thread.
  void AskForNode(std::function<void(const json::Value& node)> answer);

 private:
  struct ApiThread;  // shared with its thread
  void StartThread();

  std::shared_ptr<ApiThread> api_thread_;
  std::shared_ptr<BindContext> context_;  // that is written in
  os::ThreadOnce thread_;
};

// Which API server the configuration means, and who this node is to it.
struct ApiTarget {
  kube::Access access;
  std::string node;
};
// Nothing where none is to be used: it is switched off, or the agent has no access, or nobody says
// which node this is. `environment` is asked for NODE_NAME and where a pod's API server is.
Result<std::optional<ApiTarget>> FindApiServer(const config::ApiConfig& config,
                                               const os::Root& root,
                                               const kube::Environment& environment,
                                               const std::string& host_name);
// What the node is called: as the configuration says, or NODE_NAME, or the machine's name, which in
// a pod is the pod's.
std::string NodeNameOf(const config::ApiConfig& config, const kube::Environment& environment,
                       const std::string& host_name);
// The file without which there is none: the kubeconfig, or a pod's token. It may come later. Empty
// where none would make any.
std::string ApiAccessFile(const config::ApiConfig& config, const os::Root& root,
                          const kube::Environment& environment);

}  // namespace tessera
