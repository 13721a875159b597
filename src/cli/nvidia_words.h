// SPDX-License-Identifier: Apache-2.0
// The words after a command's `nvidia`: the command line of NVIDIA's device plugin. Its environment
// and Tessera's own flags count too. One thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/command/command.h"
#include "compat/hami/load.h"

namespace tessera::cli {

// The plugin's flags, for --help.
std::vector<Option> NvidiaOptions();

// The path of HAMi's file about single nodes, below the sources' prefix for trials.
std::string NodeConfigFileOf(const config::nvidia::Sources& sources);

struct NvidiaWords {
  config::nvidia::Sources sources{};  // without the file
  std::string file{};                 // of the configuration of the plugin; empty: none
  std::optional<int> exit_code{};     // set: the command ends, after --help or errors
};
// `path`: the command's, "agent nvidia". `command`: its description for --help.
NvidiaWords ReadNvidiaWords(const Arguments& arguments, std::string_view path,
                            Command (*command)());
// Loads the configuration from the present files, for commands that read them once.
config::LoadResult LoadOnce(NvidiaWords words);

}  // namespace tessera::cli
