// SPDX-License-Identifier: Apache-2.0
// Loads the configuration for an agent that replaces NVIDIA's device plugin. Of the plugin's
// settings, a flag overrides an environment variable, which overrides the file, which overrides the
// default. Tessera's own flags and variables override all, for settings that the plugin lacks. Any
// thread.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "compat/nvidia/command_line.h"
#include "compat/nvidia/settings.h"
#include "config/load.h"
#include "config/schema/findings.h"
#include "config/schema/yaml.h"

namespace tessera::config::nvidia {

struct Sources {
  std::optional<Document> file{};
  std::map<std::string, std::string> environment{};  // the plugin's: NAME -> value
  CommandLine line{};                                // the plugin's
  // Another program reads the file too; unknown keys are that program's.
  bool shared_file = false;
  // Tessera's own, as in config::Sources.
  std::map<std::string, std::string> own_environment{};
  std::map<std::string, std::string> own_flags{};
};

// The plugin's settings, checked by its rules. `findings` are those of the file.
Settings ReadSettings(const Sources& sources, Findings& findings);

LoadResult Load(const Schema& schema, const Sources& sources);

}  // namespace tessera::config::nvidia
