// SPDX-License-Identifier: Apache-2.0
// What all binders share of the node's pods: the pods, the notices and the claims. A shared_ptr: it
// outlives the agent's parts, because kubelet's calls and the API server's thread may still use it.
// Any thread.
#pragma once

#include "binding/bind_events.h"
#include "binding/pod_cache.h"
#include "matched/matched_grants.h"

namespace tessera {

struct BindContext {
  PodCache pods;
  BindEvents events{pods};
  MatchedGrants claims{pods, events};

  // The pod is no longer on this node.
  void Remove(const kube::Pod& pod) {
    pods.Remove(pod);
    claims.Forget(pod.KubeletUid());
  }
};

}  // namespace tessera
