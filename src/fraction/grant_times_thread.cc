// SPDX-License-Identifier: Apache-2.0
#include "fraction/grant_times_thread.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <utility>

#include "base/log.h"
#include "base/text.h"
#include "os/process.h"

namespace tessera {
namespace {

constexpr char kMissed[] = "containers that share a GPU do not see each other's GPU time";

uint64_t MonotonicNs() {
  return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch() /
                               std::chrono::nanoseconds(1));
}

}  // namespace

GrantTimesThread::GrantTimesThread(Duration look, Duration left_out)
    : look_(look), left_out_(left_out) {}

GrantTimesThread::~GrantTimesThread() {
  const MutexLock lock(state_->mutex);
  state_->ends = true;
  state_->changed.notify_all();
}

void GrantTimesThread::Add(const std::string& grant, const std::string& directory,
                           const std::string& file, const std::vector<std::string>& devices) {
  const MutexLock lock(state_->mutex);
  TrackedGrant& known = state_->known[grant];
  known.directory = directory;
  known.file = file;
  known.devices = devices;
  Put(OrderOf(grant, known));
}

void GrantTimesThread::Remove(const std::string& grant) {
  const MutexLock lock(state_->mutex);
  state_->known.erase(grant);
  Put([=](GrantTimes& times) { times.Remove(grant); });
}

void GrantTimesThread::Put(Order order) {
  state_->worker->orders.push_back(std::move(order));
  state_->changed.notify_all();
  const Status begun = Begin(state_);
  if (!begun) log::Warn(kMissed, begun.error());
  watch_.Start(
      [state = state_, look = look_, left_out = left_out_] { Watch(state, look, left_out); },
      "a container can block the times of other containers");
}

GrantTimesThread::Order GrantTimesThread::OrderOf(const std::string& grant,
                                                  const TrackedGrant& known) {
  if (known.left_out_until) {
    return [=, devices = known.devices](GrantTimes& times) { times.LeaveOut(grant, devices); };
  }
  return [=, directory = known.directory, file = known.file, devices = known.devices](
             GrantTimes& times) { times.Add(grant, directory, file, devices); };
}

Status GrantTimesThread::Begin(const std::shared_ptr<State>& state) {
  Worker& worker = *state->worker;
  if (worker.is_begun) return {};
  TRY(os::StartThread([state, worker = state->worker] { Run(state, worker); }));
  worker.is_begun = true;
  return {};
}

void GrantTimesThread::Run(const std::shared_ptr<State>& state,
                           const std::shared_ptr<Worker>& worker) {
  GrantTimes times(worker->visits);
  Duration next{0};
  MutexLock lock(state->mutex);
  worker->thread = gettid();
  const auto is_wanted = [&]() TESSERA_REQUIRES(state->mutex) {
    return state->ends || worker->is_over || !worker->orders.empty();
  };
  while (true) {
    if (times.empty()) {
      state->changed.wait(lock, is_wanted);
    } else {
      state->changed.wait_for(lock, next, is_wanted);
    }
    if (state->ends || worker->is_over) return;
    const std::vector<Order> orders = std::exchange(worker->orders, {});
    lock.unlock();
    for (const Order& order : orders) order(times);
    if (!times.empty()) next = times.UpdateRegions(MonotonicNs());
    worker->visits->LeaveRegion();
    lock.lock();
  }
}

// The path of the region whose visit blocks the worker. Empty: it visits none, or waits only for a
// processor.
std::string GrantTimesThread::WaitsAt(const Worker& worker) {
  std::string path = worker.visits->CurrentRegion();
  if (path.empty()) return "";
  const std::vector<std::string> stat = os::StatOf(fmt::format("self/task/{}", worker.thread));
  const bool runs = stat.empty() || stat[0] == "R";
  return runs || worker.visits->CurrentRegion() != path ? "" : path;
}

void GrantTimesThread::Watch(const std::shared_ptr<State>& state, Duration look,
                             Duration left_out) {
  std::deque<std::string> waits;  // at the last checks
  MutexLock lock(state->mutex);
  while (true) {
    state->changed.wait(lock, [&]() TESSERA_REQUIRES(state->mutex) {
      return state->ends || !state->known.empty();
    });
    state->changed.wait_for(lock, look,
                            [&]() TESSERA_REQUIRES(state->mutex) { return state->ends; });
    if (state->ends) return;
    waits.push_back(WaitsAt(*state->worker));
    if (waits.size() > kLooks) waits.pop_front();
    std::map<std::string, int> times;
    int total = 0;
    for (const std::string& path : waits) {
      if (path.empty()) continue;
      ++times[path];
      ++total;
    }
    if (total >= kMost) {
      const auto less = [](const auto& a, const auto& b) { return a.second < b.second; };
      Replace(state, std::ranges::max_element(times, less)->first, left_out);
      waits.clear();
    }
    TakeIn(state);
    (void)Begin(state);  // retries after a failed start of a thread
  }
}

void GrantTimesThread::Replace(const std::shared_ptr<State>& state, const std::string& path,
                               Duration left_out) {
  const std::shared_ptr<Worker> former = std::exchange(state->worker, std::make_shared<Worker>());
  former->is_over = true;
  former->visits->Stop();
  state->changed.notify_all();
  for (auto& [grant, known] : state->known) {
    if (known.directory + "/" + known.file == path) {
      known.left_out = std::clamp(2 * known.left_out, left_out, kLongest);
      known.left_out_until = SystemClock().Now() + known.left_out;
      known.held = former;
      log::Warn(
          "a container blocks writes to its region; the containers of its GPUs do not see each "
          "other's GPU time for a while",
          {{"region", path}, {"time", FormatDuration(known.left_out)}});
    }
    state->worker->orders.push_back(OrderOf(grant, known));
  }
  const Status begun = Begin(state);
  if (!begun) log::Warn(kMissed, begun.error());
}

void GrantTimesThread::TakeIn(const std::shared_ptr<State>& state) {
  const Steady now = SystemClock().Now();
  for (auto& [grant, known] : state->known) {
    if (!known.left_out_until || now < *known.left_out_until || !known.held.expired()) continue;
    known.left_out_until.reset();
    state->worker->orders.push_back(OrderOf(grant, known));
    state->changed.notify_all();
  }
}

}  // namespace tessera
