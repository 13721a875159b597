// SPDX-License-Identifier: Apache-2.0
// Every subcommand, in NAME_command.cc. The tree of a long one is in NAME_tree.cc.
#pragma once

#include <string>
#include <vector>

#include "cli/command/command.h"

namespace tessera::cli {

Command AgentCommand();
// The agent's command with only the options that these words can use. To describe all options would
// take a fifth of a daemon's time until kubelet knows it.
Command AgentCommandFor(const std::vector<std::string>& words);
Command NvidiaCommand();                                 // below agent
Command NvidiaCommandWith(std::vector<Option> options);  // with only these options
Command RocmCommand();                                   // below agent
Command RdmaSharedCommand();                             // below agent
Command SriovCommand();                                  // below agent
Command MpsCommand();
Command NvidiaMpsCommand();  // below mps
Command MovedDemoCommand();  // these print their new place
Command MovedKubeletCommand();
Command MovedFaultCommand();
Command DevicesCommand();
Command ExplainCommand();
Command HealthCommand();
Command ConfigCommand();
Command ReleaseCommand();
Command CdiCommand();
Command ConfigManagerCommand();
Command LabelsCommand();
Command VgpuCommand();
Command MonitorCommand();
Command UninstallCommand();
Command CompletionCommand();
Command ManCommand();

}  // namespace tessera::cli
