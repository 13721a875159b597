// SPDX-License-Identifier: Apache-2.0
#include "discovery/prober.h"

#include <algorithm>

#include "base/mutex.h"

namespace tessera {

// One sweep, shared by the loop and one worker. They race for `current`: the worker may answer
// while the loop gives up on it. The mutex makes each step whole, so exactly one of them decides.
struct Prober::Sweep {
  Mutex mutex;
  DeviceList devices;  // not changed once the sweep has begun
  std::vector<Observation> results TESSERA_GUARDED_BY(mutex);
  size_t current TESSERA_GUARDED_BY(mutex) = 0;      // the device being checked
  Steady began TESSERA_GUARDED_BY(mutex){};          // when its check began; zero: not yet
  bool abandoned TESSERA_GUARDED_BY(mutex) = false;  // the loop has given up on `current`
};

Prober::Prober(os::Loop& loop, os::Workers& workers, std::shared_ptr<Backend> backend,
               Parameters parameters, Sink sink)
    : loop_(loop),
      workers_(workers),
      backend_(std::move(backend)),
      parameters_(parameters),
      sink_(std::move(sink)),
      next_(loop, [this] { StartSweep(); }),
      mailbox_(loop, *this) {}

Prober::~Prober() {
  if (sweep_ == nullptr) return;
  const MutexLock lock(sweep_->mutex);
  sweep_->abandoned = true;
}

void Prober::SetDevices(DeviceList devices) {
  devices_ = std::move(devices);
  if (sweep_ != nullptr) {
    again_ = true;
  } else {
    StartSweep();
  }
}

void Prober::SweepSoon() {
  soon_ = true;
  if (sweep_ == nullptr) next_.RingWithin(parameters_.interval);
}

// The pause between two sweeps. At rest it lasts until the next beat, unless sweeps take so long
// that beats would be missed.
Duration Prober::Pause() const {
  if (again_) return Duration(0);
  const Duration took = SystemClock().Now() - sweep_began_;
  const bool rest = !soon_ && parameters_.resting > parameters_.interval;
  return rest && took < parameters_.resting / 2 ? os::UntilBeat(parameters_.resting)
                                                : parameters_.interval;
}

void Prober::StartSweep() {
  next_.Cancel();
  sweep_began_ = SystemClock().Now();
  again_ = false;
  soon_ = !backend_->TellsByItself() || !hanging_.empty();
  DeviceList devices;
  std::vector<Observation> silent;
  for (size_t i = 0; i < devices_.size(); ++i) {
    const Device& device = devices_[i];
    if (hanging_.contains(device.key)) {
      silent.push_back({device.key,
                        {EvidenceKind::kUnknown, EvidenceSource::kCheck, Reason::kCheckTimedOut,
                         "its health check still hangs"}});
    } else {
      devices.push_back(devices_.Shared(i));
    }
  }
  if (!silent.empty()) sink_(silent);
  ContinueSweep(std::move(devices));
}

void Prober::ContinueSweep(DeviceList devices) {
  if (devices.empty() || hanging_.size() >= kMostHanging) {
    sweep_.reset();
    watch_ = os::Loop::Handle();
    return next_.RingWithin(Pause());
  }
  next_.Cancel();  // the sink may have scheduled it; only one sweep runs at a time
  sweep_ = std::make_shared<Sweep>();
  sweep_->devices = std::move(devices);
  {
    const MutexLock lock(sweep_->mutex);
    sweep_->results.reserve(sweep_->devices.size());
  }
  watch_ = loop_.Every(std::max(parameters_.timeout / 4, Duration(5)), [this] { Watch(); });
  workers_.Run([sweep = sweep_, backend = backend_,
                returned = mailbox_.Bind(&Prober::CheckReturned),
                finished = mailbox_.Bind(&Prober::SweepEnded)] {
    {
      const MutexLock lock(sweep->mutex);
      if (sweep->abandoned) return;
      sweep->began = SystemClock().Now();
    }
    for (size_t i = 0; i < sweep->devices.size(); ++i) {
      Evidence evidence = backend->Check(sweep->devices[i]);
      const MutexLock lock(sweep->mutex);
      if (sweep->abandoned) {
        // The check ended after the loop gave up on it. The next sweep checks the device again.
        return returned(sweep->devices[i].key, evidence);
      }
      // The answer and the start of the next check are one step under the mutex. So the loop cannot
      // give up on a device that has answered.
      sweep->results.push_back({sweep->devices[i].key, std::move(evidence)});
      sweep->current = i + 1;
      sweep->began = SystemClock().Now();
    }
    finished(sweep);
  });
}

// If the current check has timed out, gives up on it and continues with the remaining devices.
void Prober::Watch() {
  if (sweep_ == nullptr) return;
  std::vector<Observation> results;
  DeviceList rest;
  {
    const MutexLock lock(sweep_->mutex);
    if (sweep_->began == Steady{}) return workers_.GoOn();
    if (sweep_->results.size() == sweep_->devices.size()) return;  // Finished has been posted
    if (SystemClock().Now() - sweep_->began < parameters_.timeout) return;
    sweep_->abandoned = true;
    const Device& stuck = sweep_->devices[sweep_->current];
    results = std::move(sweep_->results);
    results.push_back({stuck.key,
                       {EvidenceKind::kUnknown, EvidenceSource::kCheck, Reason::kCheckTimedOut,
                        "its health check did not answer in time"}});
    hanging_.insert(stuck.key);
    soon_ = true;
    for (size_t i = sweep_->current + 1; i < sweep_->devices.size(); ++i) {
      rest.push_back(sweep_->devices.Shared(i));
    }
  }
  sink_(results);
  ContinueSweep(std::move(rest));
}

void Prober::SweepEnded(const std::shared_ptr<Sweep>& sweep) {
  if (sweep != sweep_) return;
  std::vector<Observation> results;
  {
    const MutexLock lock(sweep->mutex);
    results = std::move(sweep->results);
  }
  soon_ |= std::any_of(results.begin(), results.end(), [](const Observation& observation) {
    return observation.evidence.kind != EvidenceKind::kGood;
  });
  sink_(results);
  ContinueSweep({});
}

void Prober::CheckReturned(const DeviceKey& key, const Evidence& evidence) {
  hanging_.erase(key);
  // A late good answer does not count as good.
  if (evidence.kind != EvidenceKind::kGood) sink_({{key, evidence}});
}

}  // namespace tessera
