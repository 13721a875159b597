// SPDX-License-Identifier: Apache-2.0
// Every subcommand, one file each: NAME_command.cc; where what it does is long, NAME_tree.cc.
#pragma once

#include <string>
#include <vector>

#include "cli/command/command.h"

namespace tessera::cli {

Command AgentCommand();
// Of it, what the words of a command line that begins with its name can mean: what else it takes is
// not described, which would be a fifth of all that a daemon does until kubelet knows of it.
Command AgentCommandFor(const std::vector<std::string>& words);
Command NvidiaCommand();                                 // below agent
Command NvidiaCommandWith(std::vector<Option> options);  // described by these alone
Command MpsCommand();
Command NvidiaMpsCommand();  // below mps
Command MovedDemoCommand();  // they say where they went
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
Command UninstallCommand();
Command CompletionCommand();
Command ManCommand();

}  // namespace tessera::cli
