// SPDX-License-Identifier: Apache-2.0
// The scheduler's own file: YAML, by the table of options. Any thread.
#pragma once

#include <map>
#include <string>

#include "config/schema/yaml.h"
#include "scheduler/settings/settings.h"

namespace tessera::scheduler {

inline constexpr char kVersion[] = "tessera-scheduler/v1";

// Where each key is set: "extender.address" -> "scheduler.yaml:3".
using SourcesByKey = std::map<std::string, std::string, std::less<>>;

// What is wrong is among the document's problems, and leaves what was there.
void ReadOwnFile(config::Document& document, Settings& settings, SourcesByKey& sources);

}  // namespace tessera::scheduler
