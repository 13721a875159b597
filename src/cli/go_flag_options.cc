// SPDX-License-Identifier: Apache-2.0
#include "cli/go_flag_options.h"

#include <string>

namespace tessera::cli {

std::vector<Option> GoFlagOptions(std::span<const config::GoFlag> flags) {
  std::vector<Option> options;
  for (const config::GoFlag& flag : flags) {
    if (flag.doc.empty()) continue;
    options.push_back({.name = "--" + std::string(flag.name),
                       .value = std::string(flag.value),
                       .help = std::string(flag.doc)});
  }
  return options;
}

}  // namespace tessera::cli
