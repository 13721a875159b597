// SPDX-License-Identifier: Apache-2.0
// A Lease (coordination.k8s.io/v1), by which one of several instances leads. Read-only: only the
// leader writes it. Pure. Plain data. Any thread.
#pragma once

#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "json/json.h"
#include "kube/objects/form.h"

namespace tessera::kube {

struct Lease {
  std::string holder{};  // spec.holderIdentity; empty: none
  Duration duration{0};  // spec.leaseDurationSeconds: validity after a renewal
  bool operator==(const Lease&) const = default;
};

Form LeaseForm();
// kInvalid with the malformed field.
Result<Lease> ReadLease(const json::Value& object);

// Whether the holder is a client-go elector on that host: HOST_UUID.
bool IsOfHost(const std::string& holder, const std::string& host);

}  // namespace tessera::kube
