// SPDX-License-Identifier: Apache-2.0
// What Allocate has promised in this process: of each id, by the grant that it was handed out with
// last. So there is never more of it than there are shares. Shared; any thread; waits for nothing.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "grant/grant.h"

namespace tessera::agent {

class PromisedGrants {
 public:
  // Of the answer, its annotations and mounts are kept.
  void Put(const std::string& resource, std::vector<std::string> ids, const Grant& answer,
           Steady now);
  // Null where exactly these ids, in any order, were not handed out, or one of them was again by
  // another grant: kubelet has taken it from who had it, or handed it on within the pod. Null too
  // where that was after `seen`, when somebody was seen to hold them: it may be another by now.
  std::shared_ptr<const Grant> Find(const std::string& resource, std::vector<std::string> ids,
                                    Steady seen) const;

 private:
  struct Promise {
    std::vector<std::string> ids;  // sorted
    Steady made;
    Grant answer;
  };
  mutable std::mutex mutex_;
  std::map<std::pair<std::string, std::string>, std::shared_ptr<const Promise>>
      last_;  // by resource and id; under mutex_
};

}  // namespace tessera::agent
