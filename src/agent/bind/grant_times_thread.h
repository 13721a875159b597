// SPDX-License-Identifier: Apache-2.0
// The times of grants (grant_times.h) on a thread of their own, which there is from the first grant
// on. Nobody waits for that one: a container that writes its region for long holds up whoever else
// does. One that holds it up for kHeld costs the others no more than that: a new thread takes its
// place for them. The container is left out for kLeftOut, and until its thread has come back.
// Any thread.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "agent/bind/followed_region.h"
#include "agent/bind/grant_times.h"
#include "base/clock.h"
#include "os/thread.h"

namespace tessera::agent {

class GrantTimesThread {
 public:
  static constexpr Duration kHeld{5'000};
  static constexpr Duration kLeftOut{600'000};

  explicit GrantTimesThread(Duration held = kHeld, Duration left_out = kLeftOut);
  ~GrantTimesThread();
  // As GrantTimes has them.
  void Add(const std::string& grant, const std::string& directory, const std::string& file,
           const std::vector<std::string>& devices);
  void Remove(const std::string& grant);

 private:
  using Order = std::function<void(GrantTimes&)>;
  // What one thread does, which owns it, until it is over.
  struct Turn {
    const std::shared_ptr<RegionVisits> visits = std::make_shared<RegionVisits>();
    std::vector<Order> orders;  // that it has not followed yet
    bool is_begun = false;
    bool is_over = false;
  };
  struct Known {
    std::string directory;
    std::string file;
    std::vector<std::string> devices;
    std::optional<Steady> left_out_until{};
    std::weak_ptr<Turn> held{};  // by this one: its thread, until it comes back
  };
  // Shared with the threads, which may wait for a disk when this object ends.
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    std::map<std::string, Known> known{};  // by grant
    std::shared_ptr<Turn> turn = std::make_shared<Turn>();
    bool ends = false;
  };

  static Order OrderOf(const std::string& grant, const Known& known);
  static Status Begin(const std::shared_ptr<State>& state);
  static void Run(const std::shared_ptr<State>& state, const std::shared_ptr<Turn>& turn);
  static void Watch(const std::shared_ptr<State>& state, Duration held, Duration left_out);
  static void Replace(const std::shared_ptr<State>& state, const std::string& path,
                      Steady left_out_until);
  static void TakeIn(State& state);
  void Put(Order order);

  const Duration held_;
  const Duration left_out_;
  const std::shared_ptr<State> state_ = std::make_shared<State>();
  os::ThreadOnce watch_;  // under the state's mutex
};

}  // namespace tessera::agent
