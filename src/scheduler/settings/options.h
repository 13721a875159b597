// SPDX-License-Identifier: Apache-2.0
// The one table of what the scheduler can be told: keys of its own file and of HAMi's
// device-config.yaml, flags, variables, and where the value lives in Settings. Reading, `config
// print`, --help and the reference in docs/reference/scheduler-settings.md are made of it.
// Immutable; any thread.
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
  std::string_view key{};   // in our file, "extender.address"; empty: it is not there
  std::string_view hami{};  // in HAMi's, below `nvidia`; empty: it is not there
  std::string_view flag{};  // without dashes; empty: there is none
  std::string_view variable{};
  Member member{};
  int64_t min = 0;  // of a number, and of a time in milliseconds
  int64_t max = 0;
  std::vector<std::string> values{};  // the only ones, of a text or of a list's items; empty: any
  std::optional<config::Misfit> (*check)(std::string_view text) = nullptr;  // likewise
  std::string_view usual{};  // the default, in words, where it depends on something else
  std::string_view doc{};    // one sentence

  bool IsSwitch() const { return std::holds_alternative<bool Settings::*>(member); }
  bool IsList() const {
    return std::holds_alternative<std::vector<std::string> Settings::*>(member);
  }
  // What it is called in messages.
  std::string Name() const { return key.empty() ? "--" + std::string(flag) : std::string(key); }
};

const std::vector<Option>& Options();
const Option* OptionOfFlag(std::string_view flag);

// Stores what the texts say, one but for a list's; or tells why they are not good, and then nothing
// is stored.
std::optional<config::Misfit> Store(const Option& option, std::span<const std::string> texts,
                                    Settings& settings);
// The same as programs read it that are written in Go, as HAMi's is: "1" and "T" are true, "1m30s"
// a time, "7.0" a whole number, and a list's items are parted by commas.
std::optional<config::Misfit> StoreLoosely(const Option& option, std::string_view text,
                                           Settings& settings);
// The texts that Store reads as the value.
std::vector<std::string> TextsOf(const Option& option, const Settings& settings);

}  // namespace tessera::scheduler
