// SPDX-License-Identifier: Apache-2.0
// Looks at the devices of one source again and again, off the loop. A sweep goes through them one
// after the other on a worker; a device whose check takes longer than the time limit is left behind
// on that worker and reported as not answering, and a new sweep goes on with the next device. So a
// hung device costs one thread and nobody's answer.
// One thread (the loop's), apart from the sweeps it starts.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "node/node.h"
#include "os/alarm.h"
#include "os/loop.h"
#include "os/mailbox.h"
#include "os/worker.h"

namespace tessera {

class Prober {
 public:
  // While so many checks hang, no other device is checked.
  static constexpr size_t kMostHanging = 8;

  struct Parameters {
    Duration interval{5'000};  // from the end of one sweep to the next
    Duration resting{30'000};  // the same where all is well and the backend tells by itself
    Duration timeout{2'000};   // of one device's check
  };
  // What sweeps observed; called on the loop's thread.
  using Sink = std::function<void(const std::vector<Observation>&)>;

  Prober(os::Loop& loop, os::Workers& workers, std::shared_ptr<Backend> backend,
         Parameters parameters, Sink sink);
  ~Prober();

  // Checks these devices from now on, beginning at once.
  void SetDevices(DeviceList devices);
  void SetParameters(Parameters parameters) {
    parameters_ = parameters;
    SweepSoon();
  }
  // Something is to be learned from the next sweep: it comes after `interval` at the latest.
  void SweepSoon();

 private:
  struct Sweep;

  void StartSweep();
  void ContinueSweep(DeviceList devices);
  Duration Pause() const;
  void Watch();
  void SweepEnded(const std::shared_ptr<Sweep>& sweep);
  void CheckReturned(const DeviceKey& key, const Evidence& evidence);

  os::Loop& loop_;
  os::Workers& workers_;
  std::shared_ptr<Backend> backend_;
  Parameters parameters_;
  Sink sink_;
  DeviceList devices_;
  std::set<DeviceKey, DeviceKeyLess> hanging_;
  std::shared_ptr<Sweep> sweep_;  // the one under way
  bool again_ = false;            // the devices changed during it
  bool soon_ = false;             // the next one is not to wait for longer than `interval`
  Steady sweep_began_{};
  os::Alarm next_;
  os::Loop::Handle watch_;
  os::Mailbox<Prober> mailbox_;
};

}  // namespace tessera
