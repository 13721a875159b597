// SPDX-License-Identifier: Apache-2.0
// A backend: the code for one kind of device. It finds devices, reports evidence about them and
// puts into each Device what a container needs to use it. A new kind costs one folder, with a class
// derived from this and its description (kind.h), and one line in CMakeLists.txt.
//
// Threads: Scan, Check and Reset may block; they are called on worker threads, Check for several
// devices at once when one of them hangs. Start and Stop are called on the agent's loop.
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

// Where a backend reports what it noticed by itself. Outlives the backend; any thread; never
// blocks.
class BackendEvents {
 public:
  virtual ~BackendEvents() = default;
  // Something was plugged or unplugged: scan again soon.
  virtual void RescanSoon() = 0;
  // Evidence that did not come from Check.
  virtual void Report(const DeviceKey& key, Evidence evidence) = 0;
  // The driver told of an error by its code, whatever it means. For the metrics alone; `code` is
  // one of not many texts.
  virtual void CountDriverError(const std::string& /*device*/, const std::string& /*code*/) {}
};

class Backend {
 public:
  virtual ~Backend() = default;

  // Begins to watch for hot-plug and events.
  virtual Status Start(BackendEvents& events) = 0;
  // No event comes after Stop has returned.
  virtual void Stop() = 0;

  // All devices. One that cannot be read is a Device with a defect, never an error; an error means
  // that the scan as a whole failed, and the last good list stays.
  virtual Result<std::vector<Device>> Scan() = 0;
  // What CDI documents say of these devices, where their nodes and mounts are not all: files of the
  // driver, what they are in the kernel. Looks at files, called after a good scan on its thread.
  // Null, the default: there is no more to be said.
  virtual std::shared_ptr<const cdi::Parts> DescribeForCdi(const std::vector<Device>& devices);

  // One look at one device.
  virtual Evidence Check(const Device& device) = 0;
  // Whether whatever Check would find is told through the events by itself: Report, or RescanSoon,
  // which brings a check of every device. Healthy devices are then looked at only now and then.
  virtual bool TellsByItself() const { return false; }
  // Whether a check that times out is inconclusive, as where the driver serialises calls: the last
  // verdict holds until it is stale.
  virtual bool TimeoutIsInconclusive() const { return false; }

  // Lets go of the vendor's library, so that a device can be reset or the driver replaced: scans
  // fail as kReleased until TakeUp, after which everything is read anew. False, the default: this
  // kind holds none. Both are called on the agent's loop, may be repeated, and wait for nothing.
  virtual bool Release() { return false; }
  virtual void TakeUp() {}
  // What still keeps a library open that was let go of, one each; empty: it is closed.
  virtual std::vector<std::string> HeldBy() const { return {}; }

  // Whether Reset is to be called before every container start; never changes.
  virtual bool ResetsBeforeStart() const { return false; }
  // Puts the device into its initial state before a container starts (PreStartContainer). Must be
  // repeatable. The default does nothing.
  virtual Status Reset(const Device& device);

  // Makes devices ready around each grant (preparer.h); lives as long as the backend. Null, the
  // default: nothing is to be done around grants. Never changes.
  virtual Preparer* preparer() { return nullptr; }
};

}  // namespace tessera
