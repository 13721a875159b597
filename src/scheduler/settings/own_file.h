// SPDX-License-Identifier: Apache-2.0
// Reads the scheduler's own YAML file by the table of options. Any thread.
#pragma once

#include <map>
#include <string>

#include "config/schema/yaml.h"
#include "scheduler/settings/settings.h"

namespace tessera::scheduler {

inline constexpr char kVersion[] = "tessera-scheduler/v1";

// The position of each key: "extender.address" -> "scheduler.yaml:3".
using SourcesByKey = std::map<std::string, std::string, std::less<>>;

// Invalid values become problems of the document and leave the settings unchanged.
void ReadOwnFile(config::Document& document, Settings& settings, SourcesByKey& sources);

}  // namespace tessera::scheduler
