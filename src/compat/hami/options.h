// SPDX-License-Identifier: Apache-2.0
// The table of the options of HAMi's plugin. It has the keys of device-config.yaml and of
// config.json's entries, flags, variables, and the members of Settings. Immutable; any thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "compat/hami/settings.h"
#include "compat/nvidia/command_line.h"
#include "config/schema/findings.h"
#include "config/schema/key.h"
#include "config/schema/scalar.h"

namespace tessera::config::hami {

using Member = std::variant<std::string Settings::*, bool Settings::*, int64_t Settings::*,
                            double Settings::*>;

struct Option {
  std::string_view name;  // its key below `nvidia` in device-config.yaml, or the key it would have
  bool in_file = true;    // device-config.yaml has it
  std::string_view node_key{};           // in config.json, in any case; empty: not there
  std::string_view flag{};               // without dashes
  std::vector<std::string> variables{};  // the first non-empty one counts
  Member member;
  int64_t min = 0;  // of a number; a decimal number must exceed it
  int64_t max = 0;
  Check check = nullptr;
  std::string_view doc{};  // of a flag, for --help

  bool IsSwitch() const { return std::holds_alternative<bool Settings::*>(member); }
  // Its name in messages and findings.
  std::string Path() const { return "nvidia." + std::string(name); }
};

const std::vector<Option>& Options();
// Stores the text's value, or returns why it is not good.
std::optional<Misfit> SetText(const Option& option, const std::string& text, Settings& settings);
// The warning for a bad value that HAMi's plugin ignores, as we do. Null: the value ends HAMi's
// plugin, such as text instead of a number.
std::optional<std::string> WithoutEffect(const Option& option, const Misfit& misfit);

// The plugin's flags that NVIDIA's plugin lacks.
const std::vector<nvidia::FurtherFlag>& FurtherFlags();
// The variables of this process that HAMi's plugin reads, also NVIDIA's.
std::map<std::string, std::string> OwnEnvironment();

void ApplyEnvironment(const std::map<std::string, std::string>& environment, Settings& settings,
                      Findings& findings);
void ApplyFlags(const nvidia::CommandLine& line, Settings& settings, Findings& findings);

}  // namespace tessera::config::hami
