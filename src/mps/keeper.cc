// SPDX-License-Identifier: Apache-2.0
#include "mps/keeper.h"

#include <condition_variable>
#include <mutex>
#include <utility>

#include "backend/nvidia/mps_config.h"
#include "base/log.h"
#include "mps/gpus.h"
#include "mps/local_control.h"
#include "os/files.h"
#include "os/lock.h"
#include "os/thread.h"

namespace tessera::mps {
namespace {

constexpr Duration kLockPause{1'000};

}  // namespace

struct Keeper::State {
  std::mutex mutex;
  std::condition_variable told;
  bool ready = false;  // under mutex, as what follows
  bool stop = false;
  bool stopped = false;
  Daemon daemon = Daemon::kStays;

  // For so long, or until it is to stop; whether it is.
  bool Stops(Duration pause) {
    std::unique_lock lock(mutex);
    return told.wait_for(lock, pause, [this] { return stop; });
  }
  bool SetReady(bool now) {
    std::lock_guard lock(mutex);
    return std::exchange(ready, now) != now;
  }
};

std::string Keeper::Order::Directory() const {
  const NvidiaConfig& kind = *resource.kind.As<NvidiaConfig>();
  return os::Root(root_prefix).Path(nvidia::MpsDirectory(kind.mps, resource.name));
}

Keeper::Keeper(Order order, std::function<void()> changed)
    : order_(std::move(order)), state_(std::make_shared<State>()) {
  const Status started =
      os::StartThread([state = state_, order = order_, changed = std::move(changed)] {
        Run(state, order, changed);
        std::lock_guard lock(state->mutex);
        state->stopped = true;
        state->told.notify_all();
      });
  if (started) return;
  log::LogError("MPS is not kept", started.error(), {{"resource", order_.resource.name}});
  state_->stopped = true;
}

Keeper::~Keeper() {
  Stop(Daemon::kStays);
}

void Keeper::Stop(Daemon daemon) {
  std::lock_guard lock(state_->mutex);
  if (std::exchange(state_->stop, true)) return;
  state_->daemon = daemon;
  state_->told.notify_all();
}

bool Keeper::AwaitStopped(Duration limit) {
  std::unique_lock lock(state_->mutex);
  return state_->told.wait_for(lock, limit, [this] { return state_->stopped; });
}

bool Keeper::ready() const {
  std::lock_guard lock(state_->mutex);
  return state_->ready;
}

void Keeper::Run(const std::shared_ptr<State>& state, const Order& order,
                 const std::function<void()>& changed) {
  const std::string directory = order.Directory();
  // Two would each kill what the other starts.
  Result<os::FileLock> lock = Fail(Reason::kInternal, "");
  std::string told;
  for (;;) {
    const Status made = os::MakeDirectories(directory, 0755);
    lock = made ? os::FileLock::Take(directory + "/.lock") : Fail(made.error());
    if (lock) break;
    if (std::exchange(told, lock.error().message) != lock.error().message) {
      log::LogError("MPS waits for its directory", lock.error(),
                    {{"resource", order.resource.name}});
    }
    if (state->Stops(kLockPause)) return;
  }
  LocalControl control(
      directory, [&] { return SizesNow(order.resource, os::Root(order.root_prefix)); },
      order.times.timeout);
  Supervisor supervisor(order.resource.name, SystemClock(), control, order.times);
  for (;;) {
    const Duration pause = supervisor.Step();
    if (state->SetReady(supervisor.ready())) changed();
    if (state->Stops(pause)) break;
  }
  if (state->daemon == Daemon::kEnds) supervisor.End();
}

}  // namespace tessera::mps
