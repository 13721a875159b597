// SPDX-License-Identifier: Apache-2.0
// Checks the devices of one source repeatedly, off the loop. A sweep checks them one after the
// other on a worker. If a check takes longer than the time limit, the device is reported as not
// answering; its worker stays with it, and a new sweep continues with the next device. So a hanging
// device costs one thread, and no other device's answer. Owned by Discovery. One thread: the
// loop's. Only the sweeps run on workers.
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
  // With this many hanging checks, no other device is checked.
  static constexpr size_t kMostHanging = 8;

  struct Parameters {
    Duration interval{5'000};  // from the end of one sweep to the next
    Duration resting{30'000};  // the same if all devices are good and Backend::TellsByItself
    Duration timeout{2'000};   // of one device's check
  };
  // Gets what sweeps observed; called on the loop's thread.
  using Sink = std::function<void(const std::vector<Observation>&)>;

  Prober(os::Loop& loop, os::Workers& workers, std::shared_ptr<Backend> backend,
         Parameters parameters, Sink sink);
  ~Prober();

  // Sets the devices to check; the first sweep begins at once.
  void SetDevices(DeviceList devices);
  void SetParameters(Parameters parameters) {
    parameters_ = parameters;
    SweepSoon();
  }
  // Asks for the next sweep within `interval`.
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
  std::shared_ptr<Sweep> sweep_;  // the running one; null: none
  bool again_ = false;            // the devices changed during it
  bool soon_ = false;             // the next sweep comes within `interval`
  Steady sweep_began_{};
  os::Alarm next_;
  os::Loop::Handle watch_;
  os::Mailbox<Prober> mailbox_;
};

}  // namespace tessera
