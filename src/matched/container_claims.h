// SPDX-License-Identifier: Apache-2.0
// Claims of containers that kubelet asks for, on runtimes without CDI (pod_match.h). One answer to
// kubelet claims each container of a pod. Only matched grants use it. Any thread.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/result.h"
#include "binding/bind_events.h"
#include "binding/pod_cache.h"
#include "grant/fraction.h"

namespace tessera {

class ContainerClaims {
 public:
  // Claimed containers: the UID of the pod, and the container's name.
  using Answered = std::set<std::pair<std::string, std::string>>;
  using Match = std::function<Result<FractionMatch>(std::span<const PodPtr>, const Answered&)>;

  // Both outlive it. `events` gets each claim.
  ContainerClaims(const PodCache& pods, const BindEvents& events) : pods_(pods), events_(events) {}

  // Asks `match` for the container, among pods that neither run nor have ended, and claims it. The
  // pod watch may be later than kubelet. So after kNotMatched it blocks up to `within`, and asks
  // `match` again at every change of the pods. It does not wait without an API server.
  Result<FractionMatch> Claim(const std::string& resource, const Match& match, Duration within);
  // The pod has gone: drops its claims.
  void Forget(const std::string& pod_uid);
  // All containers in kubelet's checkpoint, by resource.
  void SetHeld(std::map<std::string, Answered> held);
  // The resources whose containers need a claim.
  void SetClaimed(std::set<std::string> resources);
  // True if a container of the pod has no claim yet.
  bool AwaitsClaim(const kube::Pod& pod) const;

 private:
  Result<FractionMatch> ClaimNow(const std::string& resource, const Match& match);
  bool IsAnswered(const std::string& resource, const std::string& uid,
                  const std::string& container) const TESSERA_REQUIRES(mutex_);

  const PodCache& pods_;
  const BindEvents& events_;
  mutable Mutex mutex_;
  std::map<std::string, Answered> held_
      TESSERA_GUARDED_BY(mutex_);  // by resource, from kubelet's checkpoint
  std::map<std::string, Answered> claimed_
      TESSERA_GUARDED_BY(mutex_);  // by resource, of this process; existing pods only
  std::set<std::string> resources_ TESSERA_GUARDED_BY(mutex_);
};

}  // namespace tessera
