// SPDX-License-Identifier: Apache-2.0
// Whether the kube-scheduler beside this process leads: by its Lease, which it alone writes. Pods
// are placed for the leader alone, since what is held for them is in its extender's memory. One
// whose Lease was not renewed in time, as far as it knows, does not lead: whoever was asleep, or is
// told late, does not know who took it over. One thread: its loop's, as the client's, which
// outlives it, as the clock does.
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
  std::string name{};  // empty: there is one kube-scheduler, which always leads
  std::string host{};  // of its pod, with which its identity begins
};

class Leadership {
 public:
  // `took_over` is called each time that it becomes the leader, which it may be by the first look.
  Leadership(os::Loop& loop, const Clock& clock, kube::Client& client, LeaseName lease,
             std::function<void()> took_over);

  // kUnavailable with who leads instead, as far as that is known.
  Status Leads() const;
  // The Lease's; empty: nobody, or not known.
  const std::string& holder() const { return holder_; }

 private:
  void Seen(const json::Value* lease);

  const Clock& clock_;
  const LeaseName lease_;
  const std::function<void()> took_over_;
  std::string holder_;
  bool known_ = false;
  Steady seen_{};  // when the Lease was last another
  Duration valid_{0};
  std::optional<kube::ObjectWatch> watch_;
};

}  // namespace tessera::scheduler
