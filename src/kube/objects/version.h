// SPDX-License-Identifier: Apache-2.0
// An API server's Kubernetes version, from /version. Pure. Plain data. Any thread.
#pragma once

#include <compare>

#include "base/result.h"
#include "json/json.h"
#include "kube/objects/form.h"

namespace tessera::kube {

inline constexpr char kVersionPath[] = "/version";

struct Version {
  int major = 0;
  int minor = 0;
  auto operator<=>(const Version&) const = default;
};

Form VersionForm();
// A minor version such as "29+" counts by its digits. kInvalid if there is none.
Result<Version> ReadVersion(const json::Value& object);

}  // namespace tessera::kube
