// SPDX-License-Identifier: Apache-2.0
// A backend: the code for one kind of device. It finds devices, reports evidence about them, and
// puts into each Device what a container needs to use it. A new kind costs one folder, with a class
// derived from this and its description (kind.h), and one line in CMakeLists.txt
// (docs/how-to/write-a-backend.md).
//
// Owned by its Discovery or Family, and shared with the workers whose calls still run.
//
// Threads: Scan, Check, Reset and DescribeForCdi may block, and run on workers. Check runs for
// several devices at once if one of them hangs. ResetsBeforeStart and preparer may be called on any
// thread. The others run on the agent's loop, and wait for nothing.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "device/device.h"
#include "grant/cdi_document.h"
#include "health/health.h"
#include "json/json.h"

namespace tessera {

class Preparer;

// Where a backend reports what it noticed itself. Outlives the backend. Any thread; never blocks.
class BackendEvents {
 public:
  virtual ~BackendEvents() = default;
  // Something was plugged or unplugged: scan again soon.
  virtual void RescanSoon() = 0;
  // Evidence that does not come from Check, such as an event of the driver.
  virtual void Report(const DeviceKey& key, Evidence evidence) = 0;
  // The driver reported an error code, whatever it means for health. For the metrics alone; `code`
  // has few different values.
  virtual void CountDriverError(const std::string& /*device*/, const std::string& /*code*/) {}
};

class Backend {
 public:
  virtual ~Backend() = default;

  // Begins to watch for hot-plug and events.
  virtual Status Start(BackendEvents& events) = 0;
  // No event comes after Stop has returned.
  virtual void Stop() = 0;

  // All devices. An unreadable device is a Device with a defect, never an error. An error means
  // that the whole scan failed; the last good list stays.
  virtual Result<std::vector<Device>> Scan() = 0;
  // What CDI documents say of these devices beyond their nodes and mounts, such as the driver's
  // files. Called after each good scan, on its thread; may read files. Null, the default: nodes and
  // mounts are all.
  virtual std::shared_ptr<const cdi::Parts> DescribeForCdi(const std::vector<Device>& devices);

  // One check of one device. It reports what it sees; src/health decides.
  virtual Evidence Check(const Device& device) = 0;
  // Whether events report everything that Check would find: by Report, or by RescanSoon, after
  // which every device is checked. Healthy devices are then checked rarely.
  virtual bool TellsByItself() const { return false; }
  // Whether a check that times out is inconclusive, for example because the driver serialises
  // calls. The last verdict then holds until it is stale.
  virtual bool TimeoutIsInconclusive() const { return false; }

  // Release closes the vendor's library, so that a device can be reset or the driver replaced.
  // Scans then fail as kReleased. TakeUp ends that, and everything is read again. False, the
  // default: this kind has no library. Both may be repeated.
  virtual bool Release() { return false; }
  virtual void TakeUp() {}
  // What still holds the library open after Release, one text each. Empty: it is closed.
  virtual std::vector<std::string> HeldBy() const { return {}; }

  // Whether Reset is to be called before every container start; never changes.
  virtual bool ResetsBeforeStart() const { return false; }
  // Puts the device into its initial state before a container starts (PreStartContainer). Must be
  // repeatable. The default does nothing.
  virtual Status Reset(const Device& device);
  // A person reports a reset that left no trace. The agent lets this device's verdict go by itself,
  // and tells all backends, as others may have the same hardware. The default does nothing.
  virtual void LearnReset(const Device& /*device*/) {}

  // Prepares devices around each grant (preparer.h). The backend owns it. Null, the default: this
  // kind prepares nothing. Never changes.
  virtual Preparer* preparer() { return nullptr; }
};

}  // namespace tessera
