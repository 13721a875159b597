// SPDX-License-Identifier: Apache-2.0
// Which of several configuration files a node is to have, as NVIDIA's config-manager decides it.
// Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tessera::config_manager {

// What counts where neither the node's label nor the default names a file.
enum class Fallback : uint8_t {
  kNamed,   // the file that is called "default"
  kSingle,  // the only file there is
  kEmpty,   // none: a configuration with nothing in it
};
// "named,single"; kInvalid for any other word.
Result<std::vector<Fallback>> ParseFallbacks(std::string_view text);

struct ChoiceRules {
  std::string usual;  // the file of nodes without the label; empty: there is none
  std::vector<Fallback> fallbacks;
};

// The chosen one of `files`, or "" for a configuration with nothing in it. `label` is what the
// node's label says; nothing where it has none. kNotFound when a file that is named is not there,
// or nothing says which.
Result<std::string> ChooseFile(const std::optional<std::string>& label, const ChoiceRules& rules,
                               const std::vector<std::string>& files);

}  // namespace tessera::config_manager
