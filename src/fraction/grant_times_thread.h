// SPDX-License-Identifier: Apache-2.0
// Runs GrantTimes on a thread of its own, from the first grant on. A container that writes its
// region for long blocks that thread, so no other thread waits for it. A second thread looks kLooks
// times in a row, kLook apart, whether the first is stuck at a region. If it is in kMost of them,
// the region that it was stuck at most is left out: for kLeftOut at first, then twice as long each
// time. A new thread continues with the other regions. So a container delays the others for two
// seconds in ten, and soon not at all. Owned by GrantBinder. Any thread.
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "fraction/followed_region.h"
#include "fraction/grant_times.h"
#include "os/thread.h"

namespace tessera {

class GrantTimesThread {
 public:
  static constexpr Duration kLook{500};
  static constexpr size_t kLooks = 20;
  static constexpr int kMost = 4;
  static constexpr Duration kLeftOut{60'000};
  static constexpr Duration kLongest{3'600'000};

  explicit GrantTimesThread(Duration look = kLook, Duration left_out = kLeftOut);
  ~GrantTimesThread();
  // As the functions of GrantTimes; carried out later by the thread.
  void Add(const std::string& grant, const std::string& directory, const std::string& file,
           const std::vector<std::string>& devices);
  void Remove(const std::string& grant);

 private:
  using Order = std::function<void(GrantTimes&)>;
  // The state of one thread, which owns it until it is over. Guarded by the State's mutex.
  struct Worker {
    const std::shared_ptr<RegionVisits> visits = std::make_shared<RegionVisits>();
    std::vector<Order> orders;  // not carried out yet
    pid_t thread = 0;
    bool is_begun = false;
    bool is_over = false;
  };
  struct TrackedGrant {
    std::string directory;
    std::string file;
    std::vector<std::string> devices;
    std::optional<Steady> left_out_until{};
    Duration left_out{};           // how long it was left out last
    std::weak_ptr<Worker> held{};  // the thread that is stuck at it, until that returns
  };
  // Shared with the threads, which may wait for a disk after this object has ended.
  struct State {
    Mutex mutex;
    ConditionVariable changed;
    std::map<std::string, TrackedGrant> known TESSERA_GUARDED_BY(mutex){};  // by grant
    std::shared_ptr<Worker> worker TESSERA_GUARDED_BY(mutex) = std::make_shared<Worker>();
    bool ends TESSERA_GUARDED_BY(mutex) = false;
  };

  static Order OrderOf(const std::string& grant, const TrackedGrant& known);
  static Status Begin(const std::shared_ptr<State>& state) TESSERA_REQUIRES(state->mutex);
  static void Run(const std::shared_ptr<State>& state, const std::shared_ptr<Worker>& worker);
  static void Watch(const std::shared_ptr<State>& state, Duration look, Duration left_out);
  static std::string WaitsAt(const Worker& worker);
  static void Replace(const std::shared_ptr<State>& state, const std::string& path,
                      Duration left_out) TESSERA_REQUIRES(state->mutex);
  static void TakeIn(const std::shared_ptr<State>& state) TESSERA_REQUIRES(state->mutex);
  void Put(Order order) TESSERA_REQUIRES(state_->mutex);

  const Duration look_;
  const Duration left_out_;
  const std::shared_ptr<State> state_ = std::make_shared<State>();
  os::ThreadOnce watch_ TESSERA_GUARDED_BY(state_->mutex);
};

}  // namespace tessera
