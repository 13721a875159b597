// SPDX-License-Identifier: Apache-2.0
// A sampler for tests whose calls fail or hang on order. Any thread.
#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "backend/sampler.h"

namespace tessera::monitor {

class FakeSampler : public Sampler {
 public:
  ~FakeSampler() override = default;
  Result<std::vector<SampledDevice>> Devices() override {
    const std::lock_guard lock(mutex_);
    if (released_) return Fail(Reason::kReleased, "released");
    std::vector<SampledDevice> answering;
    for (const SampledDevice& device : devices_) {
      if (device.uuid != hanging_ && device.uuid != lost_) answering.push_back(device);
    }
    return answering;
  }
  Result<DeviceSample> Sample(const SampledDevice& device) override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return hanging_ != device.uuid; });
    if (lost_ == device.uuid) return Fail(Reason::kUnavailable, "the GPU is lost");
    return DeviceSample{.memory_used = ++samples_[device.uuid]};
  }
  void Release() override { Set(&FakeSampler::released_, true); }
  void TakeUp() override { Set(&FakeSampler::released_, false); }
  std::vector<std::string> HeldBy() const override { return {}; }

  // Calls about this device hang, or fail; "": those of none.
  void Hang(const std::string& uuid) { Set(&FakeSampler::hanging_, uuid); }
  void Lose(const std::string& uuid) { Set(&FakeSampler::lost_, uuid); }
  void Have(std::vector<SampledDevice> devices) { Set(&FakeSampler::devices_, std::move(devices)); }
  bool released() const {
    const std::lock_guard lock(mutex_);
    return released_;
  }

 private:
  template <class T, class Value>
  void Set(T FakeSampler::* member, Value&& value) {
    const std::lock_guard lock(mutex_);
    this->*member = std::forward<Value>(value);
    changed_.notify_all();
  }

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<SampledDevice> devices_;
  std::map<std::string, uint64_t> samples_;  // count by UUID; a sample's memory is its number
  std::string hanging_;
  std::string lost_;
  bool released_ = false;
};

}  // namespace tessera::monitor
