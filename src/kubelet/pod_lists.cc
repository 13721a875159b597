// SPDX-License-Identifier: Apache-2.0
#include "kubelet/pod_lists.h"

#include <mutex>
#include <utility>

namespace tessera::kubelet {

struct PodLists::State {
  State(List list_of, const Clock& clock_of) : list(std::move(list_of)), clock(clock_of) {}
  void Serve();

  const List list;
  const Clock& clock;
  std::mutex mutex;
  std::vector<Answer> waiting;  // under mutex, as the next
  bool serving = false;
};

void PodLists::State::Serve() {
  for (;;) {
    std::unique_lock lock(mutex);
    const std::vector<Answer> answers = std::exchange(waiting, {});
    serving = !answers.empty();
    lock.unlock();
    if (answers.empty()) return;
    const Steady asked = clock.Now();
    Result<PodListPtr> answer = list().map([&](std::vector<Holding> holdings) -> PodListPtr {
      return std::make_shared<const PodList>(std::move(holdings), asked);
    });
    for (const Answer& one : answers) one(answer);
  }
}

PodLists::PodLists(List list, const Clock& clock)
    : state_(std::make_shared<State>(std::move(list), clock)) {}

void PodLists::Ask(Answer answer) {
  std::unique_lock lock(state_->mutex);
  state_->waiting.push_back(std::move(answer));
  if (std::exchange(state_->serving, true)) return;
  lock.unlock();
  worker_.Run([state = state_] { state->Serve(); });
}

}  // namespace tessera::kubelet
