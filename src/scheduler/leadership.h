// SPDX-License-Identifier: Apache-2.0
// Whether the kube-scheduler in this pod leads, according to its Lease. Only the leader's extender
// places pods, because the holds are in its memory. A Lease that looks expired here counts as lost:
// after a pause or a delayed watch, another replica may have taken it.
// One thread: the loop's. The client and the clock outlive it.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "kube/client.h"
#include "kube/object_watch.h"
#include "os/loop.h"

namespace tessera::scheduler {

struct LeaseName {
  std::string lease_namespace{};
  std::string name{};  // empty: the only kube-scheduler, which always leads
  std::string host{};  // pod's host name, the prefix of its Lease identity
};

class Leadership {
 public:
  // Calls `took_over` each time this replica becomes the leader, possibly after the first read.
  Leadership(os::Loop& loop, const Clock& clock, kube::Client& client, LeaseName lease,
             std::function<void()> took_over);

  // kUnavailable, with the current leader if it is known.
  Status Leads() const;
  // The Lease's holder. Empty if there is none or it is unknown.
  const std::string& holder() const { return holder_; }

 private:
  void Seen(const json::Value* lease);

  const Clock& clock_;
  const LeaseName lease_;
  const std::function<void()> took_over_;
  std::string holder_;
  bool known_ = false;
  Steady seen_{};  // when the watch last delivered the Lease
  Duration valid_{0};
  std::optional<kube::ObjectWatch> watch_;
};

}  // namespace tessera::scheduler
