// SPDX-License-Identifier: Apache-2.0
// Rules that the schema cannot express, as they involve several keys.
#pragma once

#include <cstddef>
#include <string>

#include "backend/kind.h"
#include "config/schema/config.h"
#include "config/schema/findings.h"

namespace tessera::config {

// "resources[3]".
std::string ResourcePath(size_t index);

// Sets each resource's kind, and the defaults that depend on other keys.
void Complete(const Kinds& kinds, Config& config);

// A grant's own CDI document describes what the kind prepared for it. Reports settings of the
// resource at `path` that prevent this document.
void CheckPrepares(const Kind& kind, const Resource& resource, const std::string& path,
                   Findings& findings);

// Reports every broken rule. A value that is known to be bad breaks no further rule.
void CheckRules(const Kinds& kinds, const Config& config, Findings& findings);

}  // namespace tessera::config
