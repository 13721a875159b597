// SPDX-License-Identifier: Apache-2.0
// What stands behind a command's `nvidia`: the command line of NVIDIA's device plugin, beside its
// environment and Tessera's own flags. One thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/command/command.h"
#include "compat/hami/load.h"

namespace tessera::cli {

// The plugin's flags, for --help.
std::vector<Option> NvidiaOptions();

// Where HAMi's file about single nodes is, below the prefix that the sources have for trying out.
std::string NodeConfigFileOf(const config::nvidia::Sources& sources);

struct NvidiaWords {
  config::nvidia::Sources sources{};  // without the file
  std::string file{};                 // of the plugin's configuration; empty: none
  std::optional<int> exit_code{};  // there is nothing more to be done: help was printed, or errors
};
// `path` is the command's, "agent nvidia"; what `command` makes is described by --help.
NvidiaWords ReadNvidiaWords(const Arguments& arguments, std::string_view path,
                            Command (*command)());
// What the words come to now, with the files as they are: for commands that read them once.
config::LoadResult LoadOnce(NvidiaWords words);

}  // namespace tessera::cli
