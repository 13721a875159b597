// SPDX-License-Identifier: Apache-2.0
// The Binding of a pod to a node (core/v1). The API server adds its annotations to the pod in the
// update that sets the node, so kubelet never sees one without the other. Pure. Plain data. Any
// thread.
#pragma once

#include <string>

#include "base/result.h"
#include "json/json.h"
#include "kube/objects/members.h"

namespace tessera::kube {

struct Binding {
  // Bytes of all annotations. The API server does not check them here.
  static constexpr size_t kMostOfAnnotations = size_t{64} << 10;

  std::string pod_namespace{};
  std::string pod{};
  std::string uid{};  // of the pod; a later pod of the same name is not bound
  std::string node{};
  Texts annotations{};
  Texts labels{};  // earlier servers than Kubernetes 1.35 ignore them
};

// kInvalid if a part is missing, or the annotations could not be read back from the pod.
Result<json::Value> BindingJson(const Binding& binding);

}  // namespace tessera::kube
