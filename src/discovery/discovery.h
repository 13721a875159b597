// SPDX-License-Identifier: Apache-2.0
// Discovers the devices of one resource: runs its backend's scans and checks on threads of its own,
// and takes the backend's reports. A call that hangs delays no other resource. Results go to
// DiscoveryEvents. Owned by ServedResource. One thread, the loop's, except where a function says
// otherwise.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "backend/found_devices.h"
#include "backend/kind.h"
#include "base/error.h"
#include "config/schema/config.h"
#include "device/device_list.h"
#include "discovery/prober.h"
#include "discovery/scanner.h"
#include "os/loop.h"
#include "os/mailbox.h"
#include "os/worker.h"

namespace tessera {

// Called on the loop's thread.
class DiscoveryEvents {
 public:
  virtual ~DiscoveryEvents() = default;
  // A scan ended. The callee may destroy the discovery.
  virtual void ScanEnded(Result<Scanner::ScanResult> found) = 0;
  // Checks of devices ended.
  virtual void ChecksEnded(const std::vector<Observation>& observations) = 0;
  // The backend reported a device outside of a check.
  virtual void DeviceReported(const Observation& observation) = 0;
  virtual void DriverErrorReported(const std::string& device, const std::string& code) = 0;
};

class Discovery : public BackendEvents {
 public:
  // All outlive it. `call_unix`: for the backend; may be null.
  Discovery(os::Loop& loop, os::Workers& workers, DiscoveryEvents& events,
            std::shared_ptr<FoundDevices> found, CallUnix call_unix = nullptr);
  ~Discovery() override;
  Discovery(const Discovery&) = delete;
  Discovery& operator=(const Discovery&) = delete;

  // Makes the backend of this resource, not started yet. Stops the former one.
  void Make(const config::Config& config, const config::Resource& resource);
  // Starts the backend. The first scan begins at once; checks begin with CheckDevices.
  void Start();
  void SetParameters(const config::Config& config);
  // Sets the devices to check; the first sweep begins at once. While the vendor's library is
  // released, none is checked.
  void CheckDevices(DeviceList devices);
  void CheckSoon() { prober_->SweepSoon(); }
  void ScanSoon() { scanner_->ScanSoon(); }

  // Makes the backend release the vendor's library, for this reason, or take it up again (nullopt).
  // May be called before Start. True if the backend did either.
  bool SetReleased(std::optional<Error> order);
  // The reason for the release, while the backend has released the vendor's library.
  const std::optional<Error>& released() const { return released_; }

  Backend& backend() const { return *backend_; }
  const std::shared_ptr<Backend>& shared_backend() const { return backend_; }
  bool scanning() const { return scanner_->scanning(); }
  // Whether a scan of this backend has succeeded.
  bool scanned() const { return scanned_; }
  // What the last good scan says for CDI documents; null: no more than the devices.
  const std::shared_ptr<const cdi::Parts>& cdi() const { return cdi_; }
  // Why the backend did not start, if so.
  const std::optional<Error>& start_error() const { return start_error_; }
  // Why the last scan failed as a whole, such as a driver that is missing.
  const std::optional<Error>& scan_error() const { return scan_error_; }

  void RescanSoon() override;                                                          // any thread
  void Report(const DeviceKey& key, Evidence evidence) override;                       // any thread
  void CountDriverError(const std::string& device, const std::string& code) override;  // any thread

 private:
  void Stop();
  bool LetGo();
  void Scanned(Result<Scanner::ScanResult> found);

  os::Loop& loop_;
  os::Workers& workers_;
  DiscoveryEvents& events_;
  const std::shared_ptr<FoundDevices> found_;
  const CallUnix call_unix_;
  std::string resource_;
  Prober::Parameters parameters_;
  std::shared_ptr<Backend> backend_;
  // Runs scans and checks. A check that gets no thread does not happen, and its device becomes
  // stale.
  std::shared_ptr<os::Workers> hardware_;
  std::unique_ptr<Scanner> scanner_;  // null: not started
  std::unique_ptr<Prober> prober_;
  std::optional<Error> release_order_;  // the order, whether or not the backend has a library
  std::optional<Error> released_;       // the order that the backend followed
  std::optional<Error> start_error_;
  std::optional<Error> scan_error_;
  std::shared_ptr<const cdi::Parts> cdi_;
  bool scanned_ = false;  // only a scan shows that a known device is there
  os::Mailbox<Discovery> mailbox_;
};

}  // namespace tessera
