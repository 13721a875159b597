// SPDX-License-Identifier: Apache-2.0
// Client of kubelet's pod-resources API: who holds which devices. Every call is made on a worker
// and makes a channel of its own, so a kubelet that restarted is reached again at once. kubelet
// takes 100 calls a second, ten at once; the caller asks every few seconds and one at a time. Any
// thread.
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

// kubelet's own view of the devices, of both calls at one time.
struct PodResourcesView {
  std::vector<Holding> holdings;  // one a container and resource, each id once
  // Resource -> healthy ids, those that are held included; nothing when kubelet would not say.
  std::optional<std::map<std::string, int>> allocatable;
};

// List alone, waited for: by a worker. kPodResourcesUnavailable when it fails.
Result<std::vector<Holding>> ListHoldings(const std::string& socket_path, Duration timeout);

// Cancels the call when destroyed.
class PodResourcesCall {
 public:
  // List, then GetAllocatableResources. `done` is called once, on the worker:
  // kPodResourcesUnavailable when List fails. `timeout` is for each of them.
  static std::unique_ptr<PodResourcesCall> Ask(os::Workers& workers, std::string socket_path,
                                               Duration timeout,
                                               std::function<void(Result<PodResourcesView>)> done);
  ~PodResourcesCall();

 private:
  struct State;
  explicit PodResourcesCall(std::shared_ptr<State> state) : state_(std::move(state)) {}
  const std::shared_ptr<State> state_;  // the worker's as well
};

}  // namespace tessera::kubelet
