// SPDX-License-Identifier: Apache-2.0
// Counts what late grants take of each GPU, by the same rules as granting, for people and their
// dashboards. Owned by GrantKeeper. Any thread.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "base/mutex.h"
#include "base/result.h"
#include "binding/binding_store.h"
#include "binding/held_grants.h"
#include "fraction/bind_context.h"
#include "placement/capacity.h"

namespace tessera {

struct Granted {
  int containers = 0;       // bound containers, init containers included
  UsageByDevice by_device;  // what their pods take of each GPU while they live
  bool operator==(const Granted&) const = default;
};
using GrantedByResource = std::map<std::string, Granted>;

class GrantTally {
 public:
  // `checkpoint`: kubelet's file.
  GrantTally(std::string checkpoint, const std::string& state_dir,
             std::shared_ptr<const BindContext> context)
      : checkpoint_(std::move(checkpoint)), store_(state_dir), context_(std::move(context)) {}

  // Counts the grants that kubelet knows; waits for disks. If the checkpoint is unreadable, the
  // last count stays.
  void Count();
  GrantedByResource last() const;

 private:
  Result<GrantedByResource> CountAll();

  CheckpointFile checkpoint_;
  BindingStore store_;
  const std::shared_ptr<const BindContext> context_;
  mutable Mutex mutex_;
  GrantedByResource last_ TESSERA_GUARDED_BY(mutex_);
};

}  // namespace tessera
