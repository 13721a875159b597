// SPDX-License-Identifier: Apache-2.0
#include "kube/eviction.h"

#include "kube/paths.h"

namespace tessera::kube {

std::string EvictionPath(const Pod& pod) {
  return PodPath(pod.pod_namespace, pod.name) + "/eviction";
}

json::Value EvictionOf(const Pod& pod) {
  return json::Object{
      {"apiVersion", "policy/v1"},
      {"kind", "Eviction"},
      {"metadata", json::Object{{"name", pod.name}, {"namespace", pod.pod_namespace}}},
      {"deleteOptions", json::Object{{"preconditions", json::Object{{"uid", pod.uid}}}}}};
}

}  // namespace tessera::kube
