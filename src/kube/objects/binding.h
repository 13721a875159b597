// SPDX-License-Identifier: Apache-2.0
// What binds a pod to a node (core/v1). The API server merges its annotations into the pod in the
// same update that gives it the node: kubelet never sees the one without the other. Plain data;
// pure; any thread.
#pragma once

#include <string>

#include "base/result.h"
#include "json/json.h"
#include "kube/objects/members.h"

namespace tessera::kube {

struct Binding {
  // Together; the API server does not check them here.
  static constexpr size_t kMostOfAnnotations = size_t{64} << 10;

  std::string pod_namespace{};
  std::string pod{};
  std::string uid{};  // of the pod: a later one of its name is not bound
  std::string node{};
  Texts annotations{};
  Texts labels{};  // from Kubernetes 1.35 on; earlier servers leave them out
};

// kInvalid where it lacks a part, or has annotations that would not be read back from the pod.
Result<json::Value> BindingJson(const Binding& binding);

}  // namespace tessera::kube
