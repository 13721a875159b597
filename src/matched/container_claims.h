// SPDX-License-Identifier: Apache-2.0
// Which container kubelet asks for, where that has to be known when it asks (pod_match.h): each
// container of a pod is claimed by one answer. Nothing else of the agent needs it; it goes with the
// runtimes that read no CDI. Any thread.
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
  // Containers that kubelet was answered for: by the UIDs of their pods, and their names.
  using Answered = std::set<std::pair<std::string, std::string>>;
  using Match = std::function<Result<FractionMatch>(std::span<const PodPtr>, const Answered&)>;

  // Both outlive it; `events` are told of each claim.
  ContainerClaims(const PodCache& pods, const BindEvents& events) : pods_(pods), events_(events) {}

  // Asks `match` which container of the pods that neither run nor have ended is being answered for,
  // and counts it as answered. While that comes to kNotMatched and there is an API server that may
  // tell of more, it is asked anew with every change, for so long: the watch may come after
  // kubelet. Blocks meanwhile.
  Result<FractionMatch> Claim(const std::string& resource, const Match& match, Duration within);
  // The pod has gone.
  void Forget(const std::string& pod_uid);
  // All that kubelet's checkpoint has, by resource.
  void SetHeld(std::map<std::string, Answered> held);
  // The resources whose containers are claimed.
  void SetClaimed(std::set<std::string> resources);
  // Whether a container of the pod is still to be claimed.
  bool AwaitsClaim(const kube::Pod& pod) const;

 private:
  Result<FractionMatch> ClaimNow(const std::string& resource, const Match& match);
  bool IsAnswered(const std::string& resource, const std::string& uid,
                  const std::string& container) const TESSERA_REQUIRES(mutex_);

  const PodCache& pods_;
  const BindEvents& events_;
  mutable Mutex mutex_;
  std::map<std::string, Answered> held_
      TESSERA_GUARDED_BY(mutex_);  // by resource, as kubelet has written it
  std::map<std::string, Answered> claimed_
      TESSERA_GUARDED_BY(mutex_);  // likewise, in this process; of pods that are there
  std::set<std::string> resources_ TESSERA_GUARDED_BY(mutex_);
};

}  // namespace tessera
