// SPDX-License-Identifier: Apache-2.0
#include "shares/agent.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>

#include "fraction/grant_times.h"

namespace tessera::limiter {
namespace {

uint64_t Now() {
  return static_cast<uint64_t>(
      std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count());
}

}  // namespace

Agent::Agent(std::string directory, std::string uuid, size_t containers)
    : directory_(std::move(directory)),
      uuid_(std::move(uuid)),
      containers_(containers),
      thread_([this] { Run(); }) {}

void Agent::Run() {
  GrantTimes times;
  while (!ends_) {
    for (size_t i = 0; i < containers_; ++i) {
      times.Add(std::to_string(i), directory_, std::to_string(i) + ".cache", {uuid_});
    }
    std::this_thread::sleep_for(std::min(times.UpdateRegions(Now()), GrantTimes::kShared));
  }
}

}  // namespace tessera::limiter
