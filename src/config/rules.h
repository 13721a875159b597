// SPDX-License-Identifier: Apache-2.0
// What the table cannot express: keys that depend on each other.
#pragma once

#include <cstddef>
#include <string>

#include "backend/kind.h"
#include "config/schema/config.h"
#include "config/schema/findings.h"

namespace tessera::config {

// "resources[3]".
std::string ResourcePath(size_t index);

// Fills in of which of these kinds each resource is, and defaults that depend on other keys.
void Complete(const Kinds& kinds, Config& config);

// What is prepared for a grant is said by the CDI document of that grant alone: where the kind
// prepares for the resource at `path`, reports what keeps that from being written.
void CheckPrepares(const Kind& kind, const Resource& resource, const std::string& path,
                   Findings& findings);

// Reports every rule that is broken. Values that are known to be bad break no further rule.
void CheckRules(const Kinds& kinds, const Config& config, Findings& findings);

}  // namespace tessera::config
