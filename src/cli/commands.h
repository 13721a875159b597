// SPDX-License-Identifier: Apache-2.0
// Every subcommand, one file each: NAME_command.cc; where what it does is long, NAME_tree.cc.
#pragma once

#include "cli/command.h"

namespace tessera::cli {

Command AgentCommand();
Command NvidiaCommand();  // below agent
Command MpsCommand();
Command NvidiaMpsCommand();  // below mps
Command DemoCommand();
Command KubeletCommand();
Command DevicesCommand();
Command ExplainCommand();
Command ConfigCommand();
Command FaultCommand();
Command ReleaseCommand();
Command CdiCommand();
Command ConfigManagerCommand();
Command LabelsCommand();
Command UninstallCommand();
Command VersionCommand();
Command CompletionCommand();
Command ManCommand();

}  // namespace tessera::cli
