// SPDX-License-Identifier: Apache-2.0
// A configured family of resources (config/schema/family.h) while it is served. It finds the names
// of its resources by scans of a backend of its own. Owned by the agent's set of resources. One
// thread, the loop's, except where a function says otherwise.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "backend/backend.h"
#include "backend/found_devices.h"
#include "base/error.h"
#include "config/schema/config.h"
#include "discovery/scanner.h"
#include "os/loop.h"
#include "os/mailbox.h"
#include "os/worker.h"

namespace tessera {

class Family : public BackendEvents {
 public:
  // The first scan begins at once; `looked` is called after each, on the loop.
  Family(os::Loop& loop, const config::Config& config, const config::Resource& resource,
         bool released, const std::shared_ptr<FoundDevices>& devices, std::function<void()> looked);
  ~Family() override;
  Family(const Family&) = delete;
  Family& operator=(const Family&) = delete;

  const config::Resource& resource() const { return resource_; }
  // The names of its resources by the last good scan; nothing before the first.
  const std::optional<std::set<std::string>>& members() const { return members_; }
  // Why the last scan failed, if so.
  const std::optional<Error>& error() const { return error_; }
  const Backend& backend() const { return *backend_; }
  // Whether its backend has released the vendor's library.
  bool released() const { return released_; }
  // Whether one scan has ended, well or not.
  bool looked() const { return members_ || error_; }

  // Makes its backend release the vendor's library, or take it up again.
  void SetReleased(bool released);

  void RescanSoon() override;                                     // any thread
  void Report(const DeviceKey& key, Evidence evidence) override;  // ignored

 private:
  void Scanned(const Result<Scanner::ScanResult>& found);

  const config::Resource resource_;
  const std::function<void()> looked_;
  const std::shared_ptr<Backend> backend_;
  os::Workers workers_;  // its own, as Discovery has
  std::optional<std::set<std::string>> members_;
  std::optional<Error> error_;
  bool released_ = false;
  std::unique_ptr<Scanner> scanner_;
  os::Mailbox<Family> mailbox_;
};

}  // namespace tessera
