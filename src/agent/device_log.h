// SPDX-License-Identifier: Apache-2.0
// The log lines and metrics of devices. One thread: the loop's.
#pragma once

#include <string>
#include <vector>

#include "agent/faults.h"
#include "agent/pages.h"
#include "http/metrics.h"
#include "node/node.h"

namespace tessera::agent {

// Counts the transitions and logs them: one line per device, or one per state if there are many.
void LogTransitions(const std::string& source, const std::vector<Transition>& steps,
                    http::Metrics& metrics);

// Logs the pods that used MPS on the devices that fell. The line of the device does not name them.
void ReportHolders(const std::string& source, const std::vector<Transition>& steps,
                   const Ledger& ledger);

// Sets the gauges that are computed only when a client reads the metrics.
void RefreshMetrics(const View& view, http::Metrics& metrics);
void RefreshFaults(const Faults& faults, http::Metrics& metrics);

}  // namespace tessera::agent
