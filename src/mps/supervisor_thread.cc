// SPDX-License-Identifier: Apache-2.0
#include "mps/supervisor_thread.h"

#include <optional>
#include <thread>
#include <utility>

#include "backend/nvidia/mps/config.h"
#include "base/log.h"
#include "base/mutex.h"
#include "mps/gpus.h"
#include "mps/local_control.h"
#include "os/files.h"
#include "os/lock.h"
#include "os/thread.h"

namespace tessera::mps {
namespace {

constexpr Duration kLockPause{1'000};
// Between a daemon's end and the next one's start, so that the agent sees that clients lost theirs.
constexpr Duration kSeen{500};

Sizes SizesFor(const Gpus& gpus, const SupervisorThread::Order& order) {
  return gpus.SizesOf(order.resource, order.replicas, order.gpus);
}

// Whether both orders have the same daemon, on the GPUs as they are now. A GPU that cannot be read
// is in neither. If the driver cannot be read, a changed order counts as another daemon.
bool IsSame(const SupervisorThread::Order& former, const SupervisorThread::Order& next,
            Gpus& gpus) {
  if (former.Directory() != next.Directory()) return false;
  SupervisorThread::Order later = former;
  later.times = next.times;
  if (later == next) return true;
  if (former.gpus.driver_root != next.gpus.driver_root || !gpus.Read()) return false;
  const Sizes before = SizesFor(gpus, former);
  const Sizes after = SizesFor(gpus, next);
  return before.gpus == after.gpus && before.threads == after.threads;
}

}  // namespace

struct SupervisorThread::State {
  Mutex mutex;
  ConditionVariable told;
  bool ready TESSERA_GUARDED_BY(mutex) = false;
  bool stop TESSERA_GUARDED_BY(mutex) = false;
  bool stopped TESSERA_GUARDED_BY(mutex) = false;
  Daemon daemon TESSERA_GUARDED_BY(mutex) = Daemon::kStays;
  std::optional<Order> next TESSERA_GUARDED_BY(mutex);  // the order to stop for

  // Waits for `pause` or the stop; true once it is to stop.
  bool Stops(Duration pause) {
    MutexLock lock(mutex);
    return told.wait_for(lock, pause, [this]() TESSERA_REQUIRES(mutex) { return stop; });
  }
  std::pair<Daemon, std::optional<Order>> Wanted() {
    const MutexLock lock(mutex);
    return {daemon, next};
  }
  bool SetReady(bool now) {
    const MutexLock lock(mutex);
    return std::exchange(ready, now) != now;
  }
};

std::string SupervisorThread::Order::Directory() const {
  return os::Root(root_prefix).Path(nvidia::MpsDirectory(gpus.mps, resource));
}

SupervisorThread::SupervisorThread(Order order, std::function<void()> changed)
    : order_(std::move(order)), state_(std::make_shared<State>()) {
  const Status started =
      os::StartThread([state = state_, order = order_, changed = std::move(changed)] {
        Run(state, order, changed);
        {
          const MutexLock lock(state->mutex);
          state->stopped = true;
          state->told.notify_all();
        }
        // After `stopped` is set: the loop then finds it and starts the next supervisor.
        changed();
      });
  if (started) return;
  log::LogError("cannot supervise MPS", started.error(), {{"resource", order_.resource}});
  const MutexLock lock(state_->mutex);
  state_->stopped = true;
}

SupervisorThread::~SupervisorThread() {
  Stop(Daemon::kStays);
}

void SupervisorThread::Stop(Daemon daemon) {
  const MutexLock lock(state_->mutex);
  if (std::exchange(state_->stop, true) && daemon == Daemon::kStays) return;
  state_->daemon = daemon;
  state_->told.notify_all();
}

void SupervisorThread::StopFor(Order next) {
  const MutexLock lock(state_->mutex);
  if (std::exchange(state_->stop, true)) return;
  state_->next = std::move(next);
  state_->told.notify_all();
}

bool SupervisorThread::stopped() const {
  const MutexLock lock(state_->mutex);
  return state_->stopped;
}

bool SupervisorThread::AwaitStopped(Duration limit) {
  State& state = *state_;
  MutexLock lock(state.mutex);
  return state.told.wait_for(lock, limit,
                             [&state]() TESSERA_REQUIRES(state.mutex) { return state.stopped; });
}

bool SupervisorThread::ready() const {
  const MutexLock lock(state_->mutex);
  return state_->ready;
}

void SupervisorThread::Run(const std::shared_ptr<State>& state, const Order& order,
                           const std::function<void()>& changed) {
  const std::string directory = order.Directory();
  // Only one process may supervise the directory: two would each kill the other's daemon.
  Result<os::FileLock> lock = Fail(Reason::kInternal, "");
  std::string told;
  for (;;) {
    const Status made = os::MakeDirectories(directory, 0755);
    lock = made ? os::FileLock::Take(directory + "/.lock") : Fail(made.error());
    if (lock) break;
    if (std::exchange(told, lock.error().message) != lock.error().message) {
      log::LogError("MPS waits for its directory", lock.error(), {{"resource", order.resource}});
    }
    if (state->Stops(kLockPause)) return;
  }
  Gpus gpus(os::Root(order.root_prefix), order.gpus.driver_root);
  const auto look = [&]() -> Result<Sizes> {
    TRY(gpus.Read());
    return SizesFor(gpus, order);
  };
  LocalControl control(directory, look, order.times.timeout);
  Supervisor supervisor(order.resource, SystemClock(), control, order.times);
  for (Duration pause{0}; !state->Stops(pause);) {
    pause = supervisor.Step();
    if (state->SetReady(supervisor.ready())) changed();
  }
  const auto [daemon, next] = state->Wanted();
  if (next && !IsSame(order, *next, gpus)) {
    log::Info("MPS is restarted, because the new configuration changes it",
              {{"resource", order.resource}});
    supervisor.End();
    std::this_thread::sleep_for(kSeen);
  } else if (daemon == Daemon::kEnds) {
    supervisor.End();
  }
}

}  // namespace tessera::mps
