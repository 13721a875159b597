// SPDX-License-Identifier: Apache-2.0
// The table of the options of NVIDIA's device plugin and GPU feature discovery. It has their flags
// with aliases, environment variables, keys, and members of Settings. Immutable; any thread.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "compat/nvidia/settings.h"
#include "config/schema/findings.h"
#include "config/schema/scalar.h"

namespace tessera::config::nvidia {

using Member =
    std::variant<std::string Settings::*, bool Settings::*, std::vector<std::string> Settings::*,
                 std::vector<int64_t> Settings::*, Duration Settings::*>;

struct Option {
  std::vector<std::string> flags;      // without dashes; the first is the name, others aliases
  std::vector<std::string> variables;  // the first defined one counts
  std::string key;                     // its path in the file; empty: none
  Member member;
  std::string doc;         // for --help
  std::string usual = "";  // for --help: the effect without it; empty: the default value

  bool IsSwitch() const { return std::holds_alternative<bool Settings::*>(member); }
  // Its name in messages and findings: its key, else its flag.
  const std::string& Path() const { return key.empty() ? flags.front() : key; }
};

const std::vector<Option>& Options();
// The option with this flag or alias, without dashes; null: none.
const Option* OptionOfFlag(std::string_view name);
// The default as the text of a flag's value.
std::string DefaultText(const Option& option);

// Stores the values of a flag or variable. `texts`: all given values, with lists separated by
// commas; for a single value the last counts. Returns why they are not good.
std::optional<Misfit> SetTexts(const Option& option, std::span<const std::string> texts,
                               Settings& settings);

// Stores the variables' values. Empty ones count as in NVIDIA's plugin.
void ApplyEnvironment(const std::map<std::string, std::string>& environment, Settings& settings,
                      Findings& findings);
// The two variables about health checks, which have neither flag nor key.
inline constexpr char kDisabledXids[] = "DP_DISABLE_HEALTHCHECKS";
inline constexpr char kEnabledXids[] = "DP_ENABLE_HEALTHCHECKS";
// The variables of this process that are in the table, and those two.
std::map<std::string, std::string> OwnEnvironment();

}  // namespace tessera::config::nvidia
