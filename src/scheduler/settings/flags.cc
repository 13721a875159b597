// SPDX-License-Identifier: Apache-2.0
#include "scheduler/settings/flags.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/characters.h"
#include "base/text.h"

namespace tessera::scheduler {
namespace {

config::Problem Bad(std::string_view name, std::string message, std::string suggestion = "") {
  return {.reason = Reason::kConfigUnknownKey,
          .origin = fmt::format("flag --{}", name),
          .text = std::string(name),
          .message = std::move(message),
          .suggestion = std::move(suggestion)};
}

config::Problem Unknown(std::string_view name) {
  std::vector<std::string> known = {kOwnFileFlag, kHamiFileFlag};
  for (const Option& option : Options()) {
    if (!option.flag.empty()) known.emplace_back(option.flag);
  }
  for (const IdleFlag& flag : IdleFlags()) known.emplace_back(flag.name);
  return Bad(name, "no such flag", Closest(name, known).value_or(""));
}

class Parser {
 public:
  explicit Parser(std::span<const std::string> words) : words_(words) {}

  CommandLine Take() {
    for (; i_ < words_.size(); ++i_) {
      const std::string& word = words_[i_];
      if (word == "--help" || word == "-h") {
        line_.help = true;
      } else if (word.starts_with("-v")) {
        ReadShort(std::string_view(word).substr(2));
      } else if (word.starts_with("--") && word.size() > 2) {
        ReadLong(std::string_view(word).substr(2));
      } else {
        TellStray(word);
      }
    }
    for (const auto& [why, names] : idle_) {
      line_.without_effect.push_back(fmt::format("{}: {}", Join(names, ", "), why));
    }
    return std::move(line_);
  }

 private:
  void ReadShort(std::string_view rest) {
    if (rest.starts_with('=')) rest.remove_prefix(1);
    if (rest.empty()) return Read("v", std::nullopt);
    Read("v", std::string(rest));
  }

  void ReadLong(std::string_view word) {
    const size_t equals = word.find('=');
    std::optional<std::string> value;
    if (equals != std::string_view::npos) value = std::string(word.substr(equals + 1));
    Read(word.substr(0, equals), std::move(value));
  }

  void Read(std::string_view name, std::optional<std::string> value) {
    const Option* option = OptionOfFlag(name);
    const auto idle = std::ranges::find(IdleFlags(), name, &IdleFlag::name);
    const bool is_idle = idle != IdleFlags().end();
    const bool names_file = name == kOwnFileFlag || name == kHamiFileFlag;
    const bool is_known = option != nullptr || is_idle || names_file;
    const bool is_switch = option != nullptr ? option->IsSwitch() : is_idle && idle->is_switch;
    if (!value && is_switch) value = "true";
    // The word after an unknown flag may be its value.
    const bool has_next = i_ + 1 < words_.size() && (is_known || words_[i_ + 1][0] != '-');
    if (!value && has_next) value = words_[++i_];
    if (!is_known) {
      line_.errors.push_back(Unknown(name));
    } else if (!value) {
      line_.errors.push_back(Bad(name, "needs a value"));
    } else if (is_idle) {
      AddIdle(*idle);
    } else if (names_file) {
      (name == kOwnFileFlag ? line_.own_file : line_.hami_file) = *std::move(value);
    } else if (!value->empty()) {
      line_.given.insert_or_assign(option, *std::move(value));
    }
  }

  void AddIdle(const IdleFlag& flag) {
    auto named = std::ranges::find(idle_, flag.why, &Idle::first);
    if (named == idle_.end()) named = idle_.insert(named, {flag.why, {}});
    std::string name = fmt::format("--{}", flag.name);
    if (std::ranges::count(named->second, name) == 0) named->second.push_back(std::move(name));
  }

  void TellStray(const std::string& word) {
    line_.errors.push_back(
        {.reason = Reason::kConfigUnknownKey,
         .origin = "command line",
         .text = word,
         .message = fmt::format("{} is not a flag; give the value of a switch after '=', as in "
                                "--leader-elect=false",
                                config::Quoted(word))});
  }

  using Idle = std::pair<std::string_view, std::vector<std::string>>;  // the reason, and its flags

  const std::span<const std::string> words_;
  size_t i_ = 0;
  CommandLine line_;
  std::vector<Idle> idle_;
};

}  // namespace

CommandLine ParseFlags(std::span<const std::string> words) {
  return Parser(words).Take();
}

}  // namespace tessera::scheduler
