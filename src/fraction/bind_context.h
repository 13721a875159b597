// SPDX-License-Identifier: Apache-2.0
// What all who bind grants share of the node's pods. Shared: it outlives the agent's parts, for
// kubelet's calls and the API server's thread may still be in it. Any thread.
#pragma once

#include "binding/bind_events.h"
#include "binding/pod_cache.h"
#include "matched/matched_grants.h"

namespace tessera {

struct BindContext {
  PodCache pods;
  BindEvents events{pods};
  MatchedGrants claims{pods, events};

  // A pod is no longer this node's.
  void Remove(const kube::Pod& pod) {
    pods.Remove(pod);
    claims.Forget(pod.KubeletUid());
  }
};

}  // namespace tessera
