// SPDX-License-Identifier: Apache-2.0
// The one table of the options of NVIDIA's device plugin and of its GPU feature discovery: flags
// with their aliases, environment variables, keys of the file, and where the value lives in
// Settings. Immutable; any thread.
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
  std::vector<std::string> flags;      // without dashes; aliases follow
  std::vector<std::string> variables;  // the first that is defined counts
  std::string key;                     // its path in the file; empty: it has none
  Member member;
  std::string doc;         // for --help
  std::string usual = "";  // there, what happens without it; empty: the default of the setting

  bool IsSwitch() const { return std::holds_alternative<bool Settings::*>(member); }
  // What it is called in messages and among Findings: its key, else its flag.
  const std::string& Path() const { return key.empty() ? flags.front() : key; }
};

const std::vector<Option>& Options();
// The option of a flag by any of its names, without dashes; null when there is none.
const Option* OptionOfFlag(std::string_view name);
// The default as text, as it would stand behind the flag.
std::string DefaultText(const Option& option);

// Stores what a flag or a variable says. `texts` are all values given, lists parted by commas; of a
// single value the last counts. Returns why they are not good.
std::optional<Misfit> SetTexts(const Option& option, std::span<const std::string> texts,
                               Settings& settings);

// Stores what the variables say, the empty ones as NVIDIA's plugin takes them.
void ApplyEnvironment(const std::map<std::string, std::string>& environment, Settings& settings,
                      Findings& findings);
// The two about health checks, which have neither flag nor key.
inline constexpr char kDisabledXids[] = "DP_DISABLE_HEALTHCHECKS";
inline constexpr char kEnabledXids[] = "DP_ENABLE_HEALTHCHECKS";
// The variables of this process that are in the table, and those two.
std::map<std::string, std::string> OwnEnvironment();

}  // namespace tessera::config::nvidia
