// SPDX-License-Identifier: Apache-2.0
// Who holds which devices, by kubelet's pod-resources API, for many who ask at once: one list is
// asked for at a time, and whoever comes while it is under way waits for the next one, so that no
// answer is older than its question. Shared; any thread.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "ledger/ledger.h"
#include "os/worker.h"

namespace tessera::kubelet {

struct PodList {
  std::vector<Holding> holdings;
  Steady asked{};
};
using PodListPtr = std::shared_ptr<const PodList>;

class PodLists {
 public:
  using List = std::function<Result<std::vector<Holding>>()>;
  using Answer = std::function<void(const Result<PodListPtr>&)>;

  // `list` asks kubelet, and waits for it (ListHoldings). `clock` outlives it.
  explicit PodLists(List list, const Clock& clock = SystemClock());

  // Waits for nothing; answered on the thread that lists, which must not wait.
  void Ask(Answer answer);

 private:
  struct State;
  const std::shared_ptr<State> state_;  // the worker's as well
  os::Workers worker_{1};
};

}  // namespace tessera::kubelet
