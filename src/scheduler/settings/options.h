// SPDX-License-Identifier: Apache-2.0
// The table of all scheduler options: keys of its own file and of HAMi's device-config.yaml, flags,
// variables, and members of Settings. Loading, `config print`, --help and
// docs/reference/scheduler-settings.md use it. Immutable. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "config/schema/scalar.h"
#include "scheduler/settings/settings.h"

namespace tessera::scheduler {

using Member = std::variant<std::string Settings::*, bool Settings::*, int64_t Settings::*,
                            Duration Settings::*, std::vector<std::string> Settings::*>;

struct Option {
  std::string_view key{};   // in our file: "extender.address"; empty: none
  std::string_view hami{};  // in HAMi's file, below `nvidia`; empty: none
  std::string_view flag{};  // without dashes; empty: none
  std::string_view variable{};
  Member member{};
  int64_t min = 0;  // of a number, or of a time in milliseconds
  int64_t max = 0;
  std::vector<std::string> values{};  // allowed texts or list items; empty: any
  std::optional<config::Misfit> (*check)(std::string_view text) =
      nullptr;               // of a text or a list item
  std::string_view usual{};  // the default in words, if it depends on other settings
  std::string_view doc{};    // one sentence

  bool IsSwitch() const { return std::holds_alternative<bool Settings::*>(member); }
  bool IsList() const {
    return std::holds_alternative<std::vector<std::string> Settings::*>(member);
  }
  // The option's name in messages.
  std::string Name() const { return key.empty() ? "--" + std::string(flag) : std::string(key); }
};

const std::vector<Option>& Options();
const Option* OptionOfFlag(std::string_view flag);

// Stores the texts: one, or any number for a list. On a misfit the settings stay unchanged.
std::optional<config::Misfit> Store(const Option& option, std::span<const std::string> texts,
                                    Settings& settings);
// Like Store, but reads text as Go programs such as HAMi do. "1" and "T" are true, "1m30s" is a
// time, "7.0" an integer; commas separate list items.
std::optional<config::Misfit> StoreLoosely(const Option& option, std::string_view text,
                                           Settings& settings);
// The texts that Store would read as the current value.
std::vector<std::string> TextsOf(const Option& option, const Settings& settings);

}  // namespace tessera::scheduler
