// SPDX-License-Identifier: Apache-2.0
// What was granted of each GPU by late grants, counted as whoever grants one more counts it, for
// people and their dashboards. Any thread.
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
  int containers = 0;       // that are bound, init containers included
  UsageByDevice by_device;  // what their pods take of each GPU as long as they live
  bool operator==(const Granted&) const = default;
};
using GrantedByResource = std::map<std::string, Granted>;

class GrantTally {
 public:
  // `checkpoint`: kubelet's file.
  GrantTally(std::string checkpoint, const std::string& state_dir,
             std::shared_ptr<const BindContext> context)
      : checkpoint_(std::move(checkpoint)), store_(state_dir), context_(std::move(context)) {}

  // Counts anew those that kubelet knows; waits for disks. Where kubelet's checkpoint cannot be
  // read, what was counted last stays.
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
