// SPDX-License-Identifier: Apache-2.0
// NVIDIA's config-manager. The node's label chooses a configuration file, and a link to that file
// stands where the device plugin reads its configuration. It is a process of its own, next to the
// agent or NVIDIA's plugin.
#pragma once

#include <string>

#include "compat/config_manager/choose_config.h"

namespace tessera::config_manager {

struct ConfigChoiceOptions {
  bool oneshot = false;    // ends once the link is made
  std::string kubeconfig;  // empty: the pod's service account
  std::string node;
  std::string label;      // "nvidia.com/device-plugin.config"
  std::string directory;  // of the files
  std::string link;       // to the chosen file
  ChoiceRules rules;
  int signal = 0;       // sent when the link changes; 0: none
  std::string process;  // receives the signal: the first with this first word of its command line
};

// Runs until SIGTERM or SIGINT, or, with `oneshot`, until the link is made. Returns the exit code.
// A label that names no file leaves the link, with a warning. With `oneshot` that gives 1, as does
// a missing process for the signal.
int RunConfigChoice(const ConfigChoiceOptions& options);

}  // namespace tessera::config_manager
