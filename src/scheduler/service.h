// SPDX-License-Identifier: Apache-2.0
// The extender at work: it follows nodes and pods, answers kube-scheduler's calls from what it
// knows, and binds. One thread: its loop's.
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
  // Of this machine alone: whoever reaches it binds pods.
  std::string extender_address = "127.0.0.1:9444";
  std::string status_address = "127.0.0.1:9395";
  // Whose devices are placed; the one whose nodes may have an agent of ours comes first. What they
  // refer to outlives the service, as what the webhook's rules refer to.
  std::vector<hami::ServedVendor> vendors = {hami::ServedVendor()};
  Policies policies{};
  std::vector<std::string> node_labels{};  // "KEY=VALUE": devices of nodes without all do not count
  NodeLockLimits locks{};
  WebhookOptions webhook{};
  LeaseName lease{};   // of the kube-scheduler that asks
  std::string host{};  // what events name as their source
};

class Service {
 public:
  // An error where an address cannot be listened on. The clock and the loop outlive it.
  static Result<std::unique_ptr<Service>> Start(os::Loop& loop, const Clock& clock,
                                                const ServiceOptions& options);
  ~Service();

  int extender_port() const;
  int status_port() const;
  int webhook_port() const;  // 0: nothing is served yet

 private:
  struct Impl;
  explicit Service(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tessera::scheduler
