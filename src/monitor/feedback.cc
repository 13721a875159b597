// SPDX-License-Identifier: Apache-2.0
#include "monitor/feedback.h"

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace tessera::monitor {
namespace {

using region::MonitorWords;

constexpr int32_t kLaunched = 2;  // recent_kernel after a launch
constexpr int32_t kWaits = -1;
// Ends a block. After it took a block back itself, the library takes 0 for a block that is written
// again soon.
constexpr int32_t kLetGo = 1;

// The library sets kLaunched at a launch, takes back a block, and restores the limit while no
// monitor seems to live.
bool IsOfLibrary(const MonitorWords& written, const MonitorWords& seen) {
  const bool recent = seen.recent == written.recent || seen.recent == kLaunched ||
                      (written.recent < 0 && seen.recent == 0);
  return recent && (seen.limited == written.limited || seen.limited == 1);
}

int32_t CountedDown(int32_t recent) {
  if (recent < 0) return kLetGo;
  return recent == 0 ? 0 : recent - 1;
}

// The region names devices as its container likes. Those of a grant are the grant's.
bool HasDevice(const Container& container, const region::Device& device) {
  return container.parts.empty() || PartOf(container, device.uuid) != nullptr;
}

// HAMi's monitor leaves out a container with a priority below 0.
bool Counts(const Container& container) {
  return !container.problem && !container.region.devices.empty() && container.region.priority >= 0;
}

}  // namespace

// The flag is of the container. If the library also charges each device, it is active where it was
// charged.
void Feedback::Observe(const Container& container, Known& known, Steady now) const {
  std::erase_if(known.active, [&](const auto& entry) { return now - entry.second > kLinger; });
  if (container.region.words.recent != kLaunched) return;
  const std::vector<region::Device>& devices = container.region.devices;
  const auto was_charged = [&](size_t i) {
    return i < container.got.size() && container.got[i].value_or(0) > 0;
  };
  bool any = false;
  for (size_t i = 0; i < devices.size(); ++i)
    any |= was_charged(i) && HasDevice(container, devices[i]);
  for (size_t i = 0; i < devices.size(); ++i) {
    if (HasDevice(container, devices[i]) && (!any || was_charged(i))) {
      known.active[devices[i].uuid] = now;
    }
  }
}

// One container alone could write its words to end the feedback for all. HAMi's monitor looks every
// five seconds and changes few words that this one does not change as well.
bool Feedback::IsForeign(Steady now) const {
  const auto foreign = std::ranges::count_if(known_, [&](const auto& entry) {
    const auto& at = entry.second.foreign_at;
    return at && now - *at < kForeign;
  });
  return foreign > 0 && (foreign > 1 || known_.size() == 1);
}

std::vector<FeedbackWrite> Feedback::Decide(const std::vector<Container>& containers, Steady now) {
  if (mode_ == FeedbackMode::kOff) return {};
  std::map<std::string, Known, std::less<>> known;
  std::vector<std::pair<const Container*, Known*>> counted;
  for (const Container& container : containers) {
    if (!Counts(container)) continue;
    const MonitorWords& seen = container.region.words;
    const auto former = known_.find(container.file);
    const bool is_new = former == known_.end();
    Known& of = known[container.file];
    of = is_new ? Known{.written = seen} : std::move(former->second);
    if (!IsOfLibrary(of.written, seen)) of.foreign_at = now;
    Observe(container, of, now);
    counted.emplace_back(&container, &of);
  }
  known_ = std::move(known);
  if (mode_ == FeedbackMode::kAuto && IsForeign(now)) {
    if (!is_foreign(now)) {
      log::Info("feedback by priority is off: another monitor writes containers' regions");
    }
    foreign_until_ = now + kForeign;
  }
  if (is_foreign(now)) {
    for (const auto& [container, of] : counted) of->written = container->region.words;
    return {};
  }

  // By device: the active containers' priorities.
  std::map<std::string_view, std::vector<int>> active;
  for (const auto& [container, of] : counted) {
    for (const auto& [device, at] : of->active) {
      active[device].push_back(container->region.priority);
    }
  }
  std::vector<FeedbackWrite> writes;
  for (const auto& [container, of] : counted) {
    const int priority = container->region.priority;
    bool blocked = false;
    bool shared = false;
    for (const region::Device& device : container->region.devices) {
      if (!HasDevice(*container, device)) continue;
      const std::vector<int>& of_device = active[device.uuid];
      blocked |= std::ranges::any_of(of_device, [&](int other) { return other < priority; });
      shared |= std::ranges::count(of_device, priority) > 1;
    }
    const MonitorWords words{
        .recent = blocked ? kWaits : CountedDown(container->region.words.recent),
        .limited = blocked || shared ? 1 : 0};
    of->written = words;
    if (words != container->region.words) writes.push_back({container->file, words});
  }
  return writes;
}

std::vector<FeedbackWrite> Feedback::End(const std::vector<Container>& containers) const {
  std::vector<FeedbackWrite> writes;
  for (const Container& container : containers) {
    const MonitorWords& seen = container.region.words;
    const auto known = known_.find(container.file);
    if (!Counts(container) || known == known_.end()) continue;
    const bool waits = seen.recent < 0 || known->second.written.recent < 0;
    const MonitorWords words{.recent = waits ? kLetGo : seen.recent, .limited = 1};
    // The last reading does not show the writes that followed it.
    if (words != seen || words != known->second.written) writes.push_back({container.file, words});
  }
  return writes;
}

}  // namespace tessera::monitor
