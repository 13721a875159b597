// SPDX-License-Identifier: Apache-2.0
// Which Kubernetes an API server is, as it says at /version. Plain data; pure; any thread.
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
// Of a minor version such as "29+" the digits count. kInvalid where it is none.
Result<Version> ReadVersion(const json::Value& object);

}  // namespace tessera::kube
