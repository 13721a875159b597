// SPDX-License-Identifier: Apache-2.0
// The times of grants (grant_times.h) on a thread of their own, which there is from the first grant
// on. Nobody waits for that one: a container that writes its region for long holds up whoever else
// does. Another thread looks kLooks times in a row, kLook apart, whether it waits at a region.
// Where it does for kMost of them, the region that it waited at the most is left out, for kLeftOut
// at first and twice as long each time, and a new thread takes its place for the others. So a
// container costs the others two seconds in ten, and soon nothing. Any thread.
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
  // As GrantTimes has them.
  void Add(const std::string& grant, const std::string& directory, const std::string& file,
           const std::vector<std::string>& devices);
  void Remove(const std::string& grant);

 private:
  using Order = std::function<void(GrantTimes&)>;
  // What one thread does, which owns it, until it is over. Under the state's mutex.
  struct Worker {
    const std::shared_ptr<RegionVisits> visits = std::make_shared<RegionVisits>();
    std::vector<Order> orders;  // that it has not followed yet
    pid_t thread = 0;
    bool is_begun = false;
    bool is_over = false;
  };
  struct TrackedGrant {
    std::string directory;
    std::string file;
    std::vector<std::string> devices;
    std::optional<Steady> left_out_until{};
    Duration left_out{};           // the last time
    std::weak_ptr<Worker> held{};  // by this one: its thread, until it comes back
  };
  // Shared with the threads, which may wait for a disk when this object ends.
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
