// SPDX-License-Identifier: Apache-2.0
// The scheduler's service: it watches nodes and pods, answers kube-scheduler's calls, and binds
// pods. One thread: the loop's.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "hami/vendor_table.h"
#include "kube/access.h"
#include "os/loop.h"
#include "placement/placement.h"
#include "scheduler/cluster.h"
#include "scheduler/leadership.h"
#include "scheduler/node_locks.h"
#include "scheduler/webhook_server.h"

namespace tessera::scheduler {

struct ServiceOptions {
  kube::Access access{};
  // Loopback only: any client of this address can bind pods.
  std::string extender_address = "127.0.0.1:9444";
  std::string status_address = "127.0.0.1:9395";
  // The vendors that are placed. The vendor that may have an agent of ours comes first. Objects
  // that vendors and webhook rules refer to outlive the service.
  std::vector<hami::ServedVendor> vendors = {hami::ServedVendor()};
  Policies policies{};
  std::vector<std::string> node_labels{};  // "KEY=VALUE"; a node without all of them has no devices
  NodeLockLimits locks{};
  WebhookOptions webhook{};
  LeaseName lease{};   // of the kube-scheduler in this pod
  std::string host{};  // source of events
};

class Service {
 public:
  // Fails if an address cannot be listened on. The clock and the loop outlive the service.
  static Result<std::unique_ptr<Service>> Start(os::Loop& loop, const Clock& clock,
                                                const ServiceOptions& options);
  ~Service();

  int extender_port() const;
  int status_port() const;
  int webhook_port() const;  // 0: not listening yet

 private:
  struct Impl;
  explicit Service(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tessera::scheduler
