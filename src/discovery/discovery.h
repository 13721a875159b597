// SPDX-License-Identifier: Apache-2.0
// Discovers the devices of one resource and looks after them: its backend's scans, checks and
// reports, on threads of its own, so that calls into its hardware that hang starve no other
// resource. What comes of them is handed on (DiscoveryEvents). One thread: the loop's.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/backend.h"
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
  // A scan ended; the discovery may be destroyed within.
  virtual void ScanEnded(Result<Scanner::ScanResult> found) = 0;
  // Checks of devices ended.
  virtual void ChecksEnded(const std::vector<Observation>& observations) = 0;
  // The backend tells of a device by itself.
  virtual void DeviceReported(const Observation& observation) = 0;
  virtual void DriverErrorReported(const std::string& device, const std::string& code) = 0;
};

class Discovery : public BackendEvents {
 public:
  // All outlive it.
  Discovery(os::Loop& loop, os::Workers& workers, DiscoveryEvents& events);
  ~Discovery() override;
  Discovery(const Discovery&) = delete;
  Discovery& operator=(const Discovery&) = delete;

  // A backend for this resource, which is not started yet; a former one is stopped.
  void Make(const config::Config& config, const config::Resource& resource);
  // Starts it. The first scan begins at once; devices are checked from when they are set.
  void Start();
  void SetParameters(const config::Config& config);
  // Checks these from now on, beginning at once; none while the vendor's library is let go of.
  void CheckDevices(DeviceList devices);
  void CheckSoon() { prober_->SweepSoon(); }
  void ScanSoon() { scanner_->ScanSoon(); }

  // By order the backend is to let go of the vendor's library, for this reason; nothing: to take it
  // up again. Before Start, too. True when it did either.
  bool SetReleased(std::optional<Error> order);
  // Why nothing is known of its devices, if its backend was told to let go of the vendor's library.
  const std::optional<Error>& released() const { return released_; }

  Backend& backend() const { return *backend_; }
  const std::shared_ptr<Backend>& shared_backend() const { return backend_; }
  bool scanning() const { return scanner_->scanning(); }
  // A scan of this backend has found its devices.
  bool scanned() const { return scanned_; }
  // What its last good scan says for CDI documents, if anything.
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
  std::string resource_;
  Prober::Parameters parameters_;
  std::shared_ptr<Backend> backend_;
  // A check that finds no thread is no check: its device becomes stale.
  std::shared_ptr<os::Workers> hardware_;
  std::unique_ptr<Scanner> scanner_;  // none: not started
  std::unique_ptr<Prober> prober_;
  std::optional<Error> release_order_;  // whether the backend follows it or not
  std::optional<Error> released_;       // and if it does
  std::optional<Error> start_error_;
  std::optional<Error> scan_error_;
  std::shared_ptr<const cdi::Parts> cdi_;
  bool scanned_ = false;  // known devices are shown to be there by a scan alone
  os::Mailbox<Discovery> mailbox_;
};

}  // namespace tessera
