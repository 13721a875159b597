// SPDX-License-Identifier: Apache-2.0
#include "discovery/family.h"

#include <utility>

#include "backend/kind.h"
#include "base/log.h"

namespace tessera {

Family::Family(os::Loop& loop, const config::Config& config, const config::Resource& resource,
               bool released, const std::shared_ptr<FoundDevices>& devices,
               std::function<void()> looked)
    : resource_(resource),
      looked_(std::move(looked)),
      backend_(KindOf(resource_)->make(
          resource_, {config.state_dir, os::Root(config.root_prefix), loop, nullptr, devices})),
      workers_(1),
      mailbox_(loop, *this) {
  released_ = released && backend_->Release();
  if (Status started = backend_->Start(*this); !started) {
    log::LogError("backend did not start", started.error(), {{"resource", resource_.name}});
  }
  scanner_ = std::make_unique<Scanner>(loop, workers_, backend_,
                                       [this](const auto& found) { Scanned(found); });
}

Family::~Family() {
  scanner_.reset();
  backend_->Stop();
}

void Family::Scanned(const Result<Scanner::ScanResult>& found) {
  if (found) {
    members_.emplace();
    for (const Device& device : found->devices) members_->insert(device.key.source);
    error_.reset();
  } else {
    if (error_ != found.error() && found.error().reason != Reason::kReleased) {
      log::Warn("cannot find the resources of a family; the known ones stay", found.error(),
                {{"family", resource_.name}});
    }
    error_ = found.error();
  }
  looked_();
}

void Family::SetReleased(bool released) {
  if (released_ && !released) backend_->TakeUp();
  released_ = released && backend_->Release();
  scanner_->ScanSoon();
}

void Family::RescanSoon() {
  mailbox_.Bind([](Family& self) { self.scanner_->ScanSoon(); })();
}

void Family::Report(const DeviceKey&, Evidence) {}

}  // namespace tessera
