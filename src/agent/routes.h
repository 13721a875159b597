// SPDX-License-Identifier: Apache-2.0
// The agent's HTTP: what may be read (on the status port and the control socket) and what may be
// asked for (on the control socket alone, which only its owner can open).
#pragma once

#include <functional>
#include <string>

#include "agent/faults.h"
#include "agent/pages.h"
#include "agent/pod_page.h"
#include "agent/reconciler.h"
#include "agent/release.h"
#include "http/http.h"
#include "http/metrics.h"

namespace tessera::agent {

// What the routes need of the agent. Called on the loop's thread.
struct RouteSources {
  std::function<View()> view;
  std::function<PodFacts()> pods;
  const Node& node;
  Reconciler& reconciler;
  Release& release;
  http::Metrics& metrics;
  std::function<void()> refresh_metrics;   // gauges that are computed when asked for
  std::function<std::string()> not_ready;  // why not, a line each; empty when ready
  std::function<Faults()> faults;          // what of the node is in the agent's way
  std::function<Status()> may_save;        // kStateLocked while another instance writes the state
  std::function<Status()> save;            // what a person ordered is on disk before the answer
};

// GET /metrics, /healthz, /readyz, /inventory, /ledger, /explain, /cdi, /release.
http::Handler ReadRoutes(RouteSources sources);
// Those, GET /explain?pod=NAMESPACE/POD, and POST /cordon, /uncordon, /was-reset, /release.
http::Handler ControlRoutes(RouteSources sources);

}  // namespace tessera::agent
