// SPDX-License-Identifier: Apache-2.0
// A Lease (coordination.k8s.io/v1), by which one of several instances leads. Read alone: it is the
// leader's own. Plain data; pure; any thread.
#pragma once

#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "json/json.h"
#include "kube/objects/form.h"

namespace tessera::kube {

struct Lease {
  std::string holder{};  // spec.holderIdentity; empty: nobody's
  Duration duration{0};  // spec.leaseDurationSeconds: how long it holds after it was renewed
  bool operator==(const Lease&) const = default;
};

Form LeaseForm();
// kInvalid with the field where it is not as Kubernetes has it.
Result<Lease> ReadLease(const json::Value& object);

// Whether the holder is an instance of client-go's election on that host: HOST_UUID.
bool IsOfHost(const std::string& holder, const std::string& host);

}  // namespace tessera::kube
