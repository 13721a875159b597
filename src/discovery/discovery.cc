// SPDX-License-Identifier: Apache-2.0
#include "discovery/discovery.h"

#include <utility>

#include "backend/kind.h"
#include "base/log.h"

namespace tessera {
namespace {

constexpr int kHardwareThreads = Prober::kMostHanging + 1;  // one for scans

}  // namespace

Discovery::Discovery(os::Loop& loop, os::Workers& workers, DiscoveryEvents& events,
                     std::shared_ptr<FoundDevices> found, CallUnix call_unix)
    : loop_(loop),
      workers_(workers),
      events_(events),
      found_(std::move(found)),
      call_unix_(call_unix),
      mailbox_(loop, *this) {}

Discovery::~Discovery() {
  Stop();
}

void Discovery::Make(const config::Config& config, const config::Resource& resource) {
  Stop();
  resource_ = resource.name;
  backend_ = KindOf(resource)->make(resource, {.state_dir = config.state_dir,
                                               .root = os::Root(config.root_prefix),
                                               .loop = loop_,
                                               .call_unix = call_unix_,
                                               .found = found_});
  SetParameters(config);
}

void Discovery::Start() {
  start_error_.reset();
  if (Status started = backend_->Start(*this); !started) {
    log::LogError("backend did not start", started.error(), {{"resource", resource_}});
    start_error_ = started.error();
  }
  // A new backend gets its own threads, so a former backend's hanging calls cannot block it. A
  // worker destroys the former threads, so the loop does not wait for them.
  if (hardware_ != nullptr) workers_.Run([former = hardware_] {});
  hardware_ = std::make_shared<os::Workers>(kHardwareThreads);
  prober_ = std::make_unique<Prober>(loop_, *hardware_, backend_, parameters_,
                                     [this](const std::vector<Observation>& observations) {
                                       // Answers from before the release do not count during it.
                                       if (!released_) events_.ChecksEnded(observations);
                                     });
  if (release_order_) (void)LetGo();
  scanned_ = false;
  cdi_.reset();
  scan_error_.reset();
  scanner_ = std::make_unique<Scanner>(
      loop_, *hardware_, backend_,
      [this](Result<Scanner::ScanResult> found) { Scanned(std::move(found)); });
}

void Discovery::Stop() {
  if (backend_ == nullptr) return;
  scanner_.reset();
  prober_.reset();
  backend_->Stop();
}

void Discovery::SetParameters(const config::Config& config) {
  parameters_ = {.interval = config.health.check_interval,
                 .resting = config.health.stale_after / 2,
                 .timeout = config.health.check_timeout};
  if (prober_ != nullptr) prober_->SetParameters(parameters_);
}

void Discovery::CheckDevices(DeviceList devices) {
  prober_->SetDevices(released_ ? DeviceList() : std::move(devices));
}

bool Discovery::SetReleased(std::optional<Error> order) {
  release_order_ = std::move(order);
  if (scanner_ == nullptr) return false;
  bool changed = false;
  if (release_order_) {
    changed = LetGo();
  } else if (released_) {
    released_.reset();
    backend_->TakeUp();
    changed = true;
  }
  scanner_->ScanSoon();
  return changed;
}

bool Discovery::LetGo() {
  released_.reset();
  if (!backend_->Release()) return false;
  released_ = release_order_;
  prober_->SetDevices({});  // no checks until a scan after the release
  return true;
}

void Discovery::Scanned(Result<Scanner::ScanResult> found) {
  if (found) {
    scanned_ = true;
    cdi_ = found->cdi;
    scan_error_.reset();
  } else {
    // A lasting error is logged once.
    const bool told = released_ || (scan_error_ && scan_error_->message == found.error().message);
    if (!told) {
      log::Warn("scan failed; the last device list stays", found.error(),
                {{"resource", resource_}});
    }
    scan_error_ = found.error();
  }
  events_.ScanEnded(std::move(found));
}

void Discovery::RescanSoon() {
  mailbox_.Bind([](Discovery& self) { self.scanner_->ScanSoon(); })();
}

void Discovery::Report(const DeviceKey& key, Evidence evidence) {
  mailbox_.Bind([](Discovery& self, const Observation& observation) {
    self.events_.DeviceReported(observation);
  })(Observation{key, std::move(evidence)});
}

void Discovery::CountDriverError(const std::string& device, const std::string& code) {
  mailbox_.Bind([](Discovery& self, const std::string& of, const std::string& which) {
    self.events_.DriverErrorReported(of, which);
  })(device, code);
}

}  // namespace tessera
