// SPDX-License-Identifier: Apache-2.0
// NVIDIA's config-manager: the node's label says which of several configuration files counts, and a
// link to it stands where the device plugin reads its configuration. A process of its own, beside
// the agent or NVIDIA's own plugin.
#pragma once

#include <string>

#include "compat/config_manager/choose_config.h"

namespace tessera::config_manager {

struct ConfigChoiceOptions {
  bool oneshot = false;    // ends once the link stands
  std::string kubeconfig;  // empty: the pod's service account
  std::string node;
  std::string label;      // "nvidia.com/device-plugin.config"
  std::string directory;  // of the files
  std::string link;       // to the chosen one
  ChoiceRules rules;
  int signal = 0;       // to be sent when the link leads elsewhere; 0: none
  std::string process;  // to the first process of this name (the first word of its command line)
};

// Until SIGTERM or SIGINT, or, once, until the link stands; the exit code. A label that names no
// file leaves the link as it is, with a warning; once, it ends with 1, and so it does where there
// is no process to be told.
int RunConfigChoice(const ConfigChoiceOptions& options);

}  // namespace tessera::config_manager
