// SPDX-License-Identifier: Apache-2.0
// What the agent tells of its devices in the log and in the metrics. One thread: the loop's.
#pragma once

#include <string>
#include <vector>

#include "agent/faults.h"
#include "agent/pages.h"
#include "http/metrics.h"
#include "node/node.h"

namespace tessera::agent {

// Counts the steps and logs them: one line a device, or, for many at once, one a state.
void LogTransitions(const std::string& source, const std::vector<Transition>& steps,
                    http::Metrics& metrics);

// Names in the log who loses something by these steps, beyond what the device's own line tells: the
// pods that used MPS.
void ReportHolders(const std::string& source, const std::vector<Transition>& steps,
                   const Ledger& ledger);

// Sets the figures that are counted only when somebody reads them.
void RefreshMetrics(const View& view, http::Metrics& metrics);
void RefreshFaults(const Faults& faults, http::Metrics& metrics);

}  // namespace tessera::agent
