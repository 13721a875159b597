// SPDX-License-Identifier: Apache-2.0
// Chooses a node's configuration file among several, by the rules of NVIDIA's config-manager. Pure;
// any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tessera::config_manager {

// The choice if neither the node's label nor the default names a file.
enum class Fallback : uint8_t {
  kNamed,   // the file with the name "default"
  kSingle,  // the only file
  kEmpty,   // none: an empty configuration
};
// Parses "named,single"; kInvalid for any other word.
Result<std::vector<Fallback>> ParseFallbacks(std::string_view text);

struct ChoiceRules {
  std::string usual;  // the file of nodes without the label; empty: none
  std::vector<Fallback> fallbacks;
};

// The chosen file among `files`; "": an empty configuration. `label`: the value of the node's
// label; null: it has none. kNotFound: a named file is missing, or no rule chooses one.
Result<std::string> ChooseFile(const std::optional<std::string>& label, const ChoiceRules& rules,
                               const std::vector<std::string>& files);

}  // namespace tessera::config_manager
