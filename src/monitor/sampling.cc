// SPDX-License-Identifier: Apache-2.0
#include "monitor/sampling.h"

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace tessera::monitor {

Sampling::Sampling(os::Loop& loop, const Clock& clock, std::shared_ptr<Sampler> sampler)
    : clock_(clock), sampler_(std::move(sampler)), mailbox_(loop, *this) {}

void Sampling::Tick() {
  if (released_) return;
  const Steady now = clock_.Now();
  if (!is_searching_ && now >= search_at_) Find();
  for (auto& [uuid, state] : states_) {
    if (now < next_[uuid] || in_flight_.contains(uuid)) continue;
    next_[uuid] = now + kPeriod;
    Sample(state);
  }
}

void Sampling::Find() {
  is_searching_ = true;
  workers_.Run([sampler = sampler_, done = mailbox_.Bind(&Sampling::TakeFound)] {
    done(std::make_shared<const Result<std::vector<SampledDevice>>>(sampler->Devices()));
  });
}

void Sampling::TakeFound(const Found& found) {
  is_searching_ = false;
  search_at_ = clock_.Now() + kSearch;
  const std::string trouble = *found ? "" : found->error().Text();
  if (trouble != trouble_ && !trouble.empty()) {
    log::Warn("devices cannot be sampled; their last values stay", found->error());
  }
  trouble_ = trouble;
  if (!*found) return;
  // A device that hangs or is lost is not listed. Its state stays until another has its index.
  for (const SampledDevice& device : **found) {
    std::erase_if(states_, [&](const auto& state) {
      return state.second.device.index == device.index && state.first != device.uuid;
    });
    states_[device.uuid].device = device;
  }
  Tick();
}

void Sampling::Sample(DeviceState& state) {
  in_flight_.insert(state.device.uuid);
  workers_.Run(
      [sampler = sampler_, device = state.device, done = mailbox_.Bind(&Sampling::TakeSampled)] {
        done(device.uuid, std::make_shared<const Result<DeviceSample>>(sampler->Sample(device)));
      });
}

// After an error the device is searched for again, as its driver may have changed.
void Sampling::TakeSampled(const std::string& uuid, const Sampled& sampled) {
  in_flight_.erase(uuid);
  const auto found = states_.find(uuid);
  if (found == states_.end() || released_) return;
  if (!*sampled) {
    search_at_ = std::min(search_at_, clock_.Now() + kPeriod);
    return;
  }
  found->second.sample = **sampled;
  found->second.sampled_at = clock_.Now();
}

void Sampling::SetReleased(bool released) {
  if (released == released_) return;
  released_ = released;
  if (released) return sampler_->Release();
  sampler_->TakeUp();
  search_at_ = {};
}

std::vector<DeviceState> Sampling::States() const {
  std::vector<DeviceState> states;
  for (const auto& [uuid, state] : states_) states.push_back(state);
  std::ranges::sort(states, {}, [](const DeviceState& state) { return state.device.index; });
  return states;
}

}  // namespace tessera::monitor
