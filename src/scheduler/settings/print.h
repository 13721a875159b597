// SPDX-License-Identifier: Apache-2.0
// Settings for people: as they came out, and all that there are. Pure.
#pragma once

#include <string>

#include "scheduler/settings/load.h"

namespace tessera::scheduler {

// YAML that can be loaded again, with a comment on each line saying where the value came from.
std::string PrintYaml(const Loaded& loaded);

// The tables of docs/reference/scheduler-settings.md.
std::string MarkdownReference();

}  // namespace tessera::scheduler
