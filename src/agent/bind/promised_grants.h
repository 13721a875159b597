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

#include "grant/grant.h"

namespace tessera::agent {

class PromisedGrants {
 public:
  void Put(const std::string& resource, std::vector<std::string> ids, Grant answer);
  // Null where exactly these ids, in any order, were not handed out, or one of them was again by
  // another grant: kubelet has taken it from who had it, or handed it on within the pod.
  std::shared_ptr<const Grant> Find(const std::string& resource,
                                    std::vector<std::string> ids) const;

 private:
  struct Promise {
    std::vector<std::string> ids;  // sorted
    Grant answer;
  };
  mutable std::mutex mutex_;
  std::map<std::pair<std::string, std::string>, std::shared_ptr<const Promise>>
      last_;  // by resource and id; under mutex_
};

}  // namespace tessera::agent
