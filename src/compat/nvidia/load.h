// SPDX-License-Identifier: Apache-2.0
// What the agent is to do in the place of NVIDIA's device plugin. A flag overrides an environment
// variable, which overrides the file, which overrides the default, all of the plugin's; Tessera's
// own flags and variables come on top, for what the plugin has no word for. Any thread.
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
  std::map<std::string, std::string> environment{};  // of the plugin: NAME -> value
  CommandLine line{};                                // likewise
  // The file is another program's as well: what is not the plugin's in it is that one's.
  bool shared_file = false;
  // Tessera's own, as in config::Sources.
  std::map<std::string, std::string> own_environment{};
  std::map<std::string, std::string> own_flags{};
};

// The plugin's settings, checked by its rules; `findings` is of the file.
Settings ReadSettings(const Sources& sources, Findings& findings);

LoadResult Load(const Schema& schema, const Sources& sources);

}  // namespace tessera::config::nvidia
