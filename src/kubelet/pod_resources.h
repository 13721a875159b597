// SPDX-License-Identifier: Apache-2.0
// Client of kubelet's pod-resources API, which lists the devices of each container. Every call runs
// on a worker with its own channel, so a restarted kubelet is reached at once. The limits of
// kubelet are 100 calls a second and ten at a time. The caller makes one at a time, every few
// seconds. Any thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "ledger/ledger.h"
#include "os/worker.h"

namespace tessera::kubelet {

// kubelet's view of the devices, from both calls.
struct PodResourcesView {
  std::vector<Holding> holdings;  // one per container and resource, each id once
  // Resource -> number of healthy ids, including held ones; nothing if GetAllocatableResources
  // failed.
  std::optional<std::map<std::string, int>> allocatable;
};

// Calls List and waits for the answer, so it belongs on a worker. kPodResourcesUnavailable if it
// fails.
Result<std::vector<Holding>> ListHoldings(const std::string& socket_path, Duration timeout);

// Cancels the call when destroyed.
class PodResourcesCall {
 public:
  // Calls List, then GetAllocatableResources, each with this timeout. Calls `done` once, on the
  // worker; kPodResourcesUnavailable if List fails.
  static std::unique_ptr<PodResourcesCall> Ask(os::Workers& workers, std::string socket_path,
                                               Duration timeout,
                                               std::function<void(Result<PodResourcesView>)> done);
  ~PodResourcesCall();

 private:
  struct State;
  explicit PodResourcesCall(std::shared_ptr<State> state) : state_(std::move(state)) {}
  const std::shared_ptr<State> state_;  // shared with the worker
};

}  // namespace tessera::kubelet
