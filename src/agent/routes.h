// SPDX-License-Identifier: Apache-2.0
// The agent's HTTP routes. Reads are served on the status port and the control socket. Orders are
// accepted on the control socket alone, which only its owner can open. One thread: the loop's.
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

// The routes' access to the agent. Called on the loop's thread.
struct RouteSources {
  std::function<View()> view;
  std::function<PodFacts()> pods;
  const Node& node;
  Reconciler& reconciler;
  Release& release;
  http::Metrics& metrics;
  std::function<void()> refresh_metrics;   // sets the gauges that are computed on demand
  std::function<std::string()> not_ready;  // one line per cause; empty: ready
  std::function<Faults()> faults;          // conditions of the node that block the agent
  std::function<Status()> may_save;        // kStateLocked while another instance writes the state
  std::function<Status()> save;            // writes a person's order to disk before the answer
};

// GET /metrics, /healthz, /readyz, /inventory, /ledger, /explain, /cdi, /release.
http::Handler ReadRoutes(RouteSources sources);
// All of ReadRoutes, GET /explain?pod=NAMESPACE/POD, GET /grants, and POST /cordon, /uncordon,
// /was-reset, /release.
http::Handler ControlRoutes(RouteSources sources);

}  // namespace tessera::agent
