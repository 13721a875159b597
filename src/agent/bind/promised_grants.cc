// SPDX-License-Identifier: Apache-2.0
#include "agent/bind/promised_grants.h"

#include <algorithm>

namespace tessera::agent {

void PromisedGrants::Put(const std::string& resource, std::vector<std::string> ids,
                         const Grant& answer, Steady now) {
  std::ranges::sort(ids);
  Grant kept;
  kept.annotations = answer.annotations;
  kept.mounts = answer.mounts;
  const auto promise = std::make_shared<const Promise>(std::move(ids), now, std::move(kept));
  std::lock_guard lock(mutex_);
  for (const std::string& id : promise->ids) last_[{resource, id}] = promise;
}

std::shared_ptr<const Grant> PromisedGrants::Find(const std::string& resource,
                                                  std::vector<std::string> ids, Steady seen) const {
  std::ranges::sort(ids);
  std::lock_guard lock(mutex_);
  std::shared_ptr<const Promise> promise;
  for (const std::string& id : ids) {
    const auto last = last_.find({resource, id});
    if (last == last_.end() || last->second->ids != ids) return nullptr;
    if (promise != nullptr && promise != last->second) return nullptr;
    promise = last->second;
  }
  if (promise == nullptr || promise->made > seen) return nullptr;
  return {promise, &promise->answer};
}

}  // namespace tessera::agent
