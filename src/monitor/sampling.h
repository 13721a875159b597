// SPDX-License-Identifier: Apache-2.0
// Samples the node's devices. Each device is sampled by calls of its own, at most one at a time: a
// call that hangs with its device keeps that device's last sample and costs no other. Owned by the
// service. One thread: the loop's.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "backend/sampler.h"
#include "base/clock.h"
#include "monitor/snapshot.h"
#include "os/loop.h"
#include "os/mailbox.h"
#include "os/worker.h"

namespace tessera::monitor {

class Sampling {
 public:
  static constexpr Duration kPeriod{2'000};   // between samples of a device
  static constexpr Duration kSearch{30'000};  // between searches for devices

  // The loop and the clock outlive it.
  Sampling(os::Loop& loop, const Clock& clock, std::shared_ptr<Sampler> sampler);

  // Begins what is due: a search, samples. Called about once a second.
  void Tick();
  // Closes the vendor's library, or opens it again.
  void SetReleased(bool released);
  // In the order of their index. A device stays until another one has its index.
  std::vector<DeviceState> States() const;

 private:
  using Found = std::shared_ptr<const Result<std::vector<SampledDevice>>>;
  using Sampled = std::shared_ptr<const Result<DeviceSample>>;

  void Find();
  void TakeFound(const Found& found);
  void Sample(DeviceState& state);
  void TakeSampled(const std::string& uuid, const Sampled& sampled);

  const Clock& clock_;
  const std::shared_ptr<Sampler> sampler_;  // shared with calls that hang
  bool released_ = false;
  bool is_searching_ = false;
  Steady search_at_{};
  std::string trouble_;                        // of the last search; logged once
  std::map<std::string, DeviceState> states_;  // by UUID
  std::map<std::string, Steady> next_;         // by UUID: when the next sample is due
  std::set<std::string> in_flight_;            // UUIDs with a call under way
  os::Workers workers_{64};
  os::Mailbox<Sampling> mailbox_;
};

}  // namespace tessera::monitor
