// SPDX-License-Identifier: Apache-2.0
// A configured family of resources (config/schema/family.h) while it is served: looks for the
// resources that it is made of now, by scans of a backend of its own. One thread: the loop's.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "backend/backend.h"
#include "base/error.h"
#include "config/schema/config.h"
#include "discovery/scanner.h"
#include "os/loop.h"
#include "os/mailbox.h"
#include "os/worker.h"

namespace tessera {

class Family : public BackendEvents {
 public:
  // The first scan begins at once; `looked` is called after each.
  Family(os::Loop& loop, const config::Config& config, const config::Resource& resource,
         bool released, std::function<void()> looked);
  ~Family() override;
  Family(const Family&) = delete;
  Family& operator=(const Family&) = delete;

  const config::Resource& resource() const { return resource_; }
  // The names of its resources by the last good scan; nothing before the first.
  const std::optional<std::set<std::string>>& members() const { return members_; }
  // Why the last scan failed, if so.
  const std::optional<Error>& error() const { return error_; }
  const Backend& backend() const { return *backend_; }
  // Its backend was told to let go of the vendor's library, and has one.
  bool released() const { return released_; }
  // Looked for at least once, whatever came of it.
  bool looked() const { return members_ || error_; }

  // Its backend is to let go of the vendor's library, or to take it up again.
  void SetReleased(bool released);

  void RescanSoon() override;                                     // any thread
  void Report(const DeviceKey& key, Evidence evidence) override;  // what its resources hear as well

 private:
  void Scanned(const Result<Scanner::ScanResult>& found);

  const config::Resource resource_;
  const std::function<void()> looked_;
  const std::shared_ptr<Backend> backend_;
  os::Workers workers_;  // of its own, as those of a ServedResource
  std::optional<std::set<std::string>> members_;
  std::optional<Error> error_;
  bool released_ = false;
  std::unique_ptr<Scanner> scanner_;
  os::Mailbox<Family> mailbox_;
};

}  // namespace tessera
