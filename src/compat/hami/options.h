// SPDX-License-Identifier: Apache-2.0
// The one table of what HAMi's plugin is told: keys of device-config.yaml, of a node's entry in
// config.json, flags, variables, and where the value lives in Settings. Immutable; any thread.
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
  std::string_view name;  // in device-config.yaml below `nvidia`, or the one that it would have
  bool in_file = true;    // it is read there
  std::string_view node_key{};  // in config.json, where any spelling goes; empty: it is not there
  std::string_view flag{};      // without dashes
  std::vector<std::string> variables{};  // the first that is not empty counts
  Member member;
  int64_t min = 0;  // of a number; of one with decimals it is more than this
  int64_t max = 0;
  Check check = nullptr;
  std::string_view doc{};  // of a flag, for --help

  bool IsSwitch() const { return std::holds_alternative<bool Settings::*>(member); }
  // What it is called in messages and among Findings.
  std::string Path() const { return "nvidia." + std::string(name); }
};

const std::vector<Option>& Options();
// Stores what the text says, or tells why it is not good.
std::optional<Misfit> SetText(const Option& option, const std::string& text, Settings& settings);
// What is said of a value that HAMi's plugin goes on with and ours passes over; nothing where it
// ends that plugin, as a text in the place of a number does.
std::optional<std::string> WithoutEffect(const Option& option, const Misfit& misfit);

// The plugin's flags that NVIDIA's does not have.
const std::vector<nvidia::FurtherFlag>& FurtherFlags();
// The variables of this process that HAMi's plugin reads, NVIDIA's among them.
std::map<std::string, std::string> OwnEnvironment();

void ApplyEnvironment(const std::map<std::string, std::string>& environment, Settings& settings,
                      Findings& findings);
void ApplyFlags(const nvidia::CommandLine& line, Settings& settings, Findings& findings);

}  // namespace tessera::config::hami
