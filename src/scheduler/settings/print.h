// SPDX-License-Identifier: Apache-2.0
// Prints settings for people: the effective values, and the reference of all options. Pure.
#pragma once

#include <string>

#include "scheduler/settings/load.h"

namespace tessera::scheduler {

// YAML that loads again, with the origin of each value in a comment.
std::string PrintYaml(const Loaded& loaded);

// The tables of docs/reference/scheduler-settings.md.
std::string MarkdownReference();

}  // namespace tessera::scheduler
