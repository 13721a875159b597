// SPDX-License-Identifier: Apache-2.0
#include "compat/nvidia/command_line.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/text.h"
#include "config/schema.h"

namespace tessera::config::nvidia {
namespace {

std::optional<std::string> ClosestFlag(std::string_view name) {
  std::vector<std::string> names;
  for (const Option& option : Options()) {
    names.insert(names.end(), option.flags.begin(), option.flags.end());
  }
  return Closest(name, names);
}

Problem Bad(std::string_view name, std::string message, std::string suggestion = "") {
  return {.reason = Reason::kConfigUnknownKey,
          .origin = fmt::format("flag --{}", name),
          .text = std::string(name),
          .message = std::move(message),
          .suggestion = std::move(suggestion)};
}

Problem Unknown(std::string_view name) {
  if (name == "config") return Bad(name, "no such flag", "config-file");
  for (const PathKey& key : FlagKeys()) {
    if (FlagName(key.path) != name) continue;
    return Bad(name, fmt::format("is a flag of Tessera's own: give it in the environment as {}, or "
                                 "before 'nvidia' with 'tessera agent nvidia'",
                                 EnvironmentName(key.path)));
  }
  return Bad(name, "no such flag", ClosestFlag(name).value_or(""));
}

bool IsNumber(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

class Parser {
 public:
  Parser(std::span<const std::string> words, std::span<const FurtherFlag> further)
      : words_(words), further_(further) {}

  CommandLine Take() {
    while (i_ < words_.size()) {
      std::string_view word = words_[i_];
      if (word == "--" && i_ + 1 == words_.size()) break;
      if (word.size() < 2 || word.front() != '-' || word == "--") {
        TellIgnored();
        break;
      }
      word.remove_prefix(word.starts_with("--") ? 2 : 1);
      const size_t equals = word.find('=');
      std::optional<std::string> value;
      if (equals != std::string_view::npos) value = std::string(word.substr(equals + 1));
      Read(word.substr(0, equals), std::move(value));
      ++i_;
    }
    return std::move(line_);
  }

 private:
  // As in Go, the first word that is neither a flag nor a flag's value ends the flags.
  void TellIgnored() {
    line_.warnings.push_back(
        {.reason = Reason::kConfigUnknownKey,
         .origin = "command line",
         .text = words_[i_],
         .message =
             fmt::format("{} and the arguments after it have no effect, as in NVIDIA's plugin; "
                         "write a switch's value after '=', as in --gds-enabled=false",
                         Quoted(words_[i_]))});
  }

  // The next word, if there is one.
  const std::string* Next() const { return i_ + 1 < words_.size() ? &words_[i_ + 1] : nullptr; }

  void Read(std::string_view name, std::optional<std::string> value) {
    if (name == "help" || name == "h") {
      line_.help = true;
      return;
    }
    const auto further = std::ranges::find(further_, name, &FurtherFlag::name);
    const bool has_number = value ? IsNumber(*value) : Next() != nullptr && IsNumber(*Next());
    if (name == "version" || (name == "v" && (further == further_.end() || !has_number))) {
      line_.version = true;
      return;
    }
    const Option* option = further == further_.end() ? OptionOfFlag(name) : nullptr;
    if (option == nullptr && further == further_.end()) {
      line_.errors.push_back(Unknown(name));
      // The next word may be its value.
      if (!value && Next() != nullptr && !Next()->starts_with('-')) ++i_;
      return;
    }
    const bool is_switch = option != nullptr ? option->IsSwitch() : further->is_switch;
    if (!value && is_switch) value = "true";
    if (!value && Next() != nullptr) value = words_[++i_];
    if (!value) {
      line_.errors.push_back(Bad(name, "needs a value"));
    } else if (option != nullptr) {
      line_.given[option].push_back(*std::move(value));
    } else {
      line_.further.insert_or_assign(std::string(name), *std::move(value));
    }
  }

  const std::span<const std::string> words_;
  const std::span<const FurtherFlag> further_;
  size_t i_ = 0;
  CommandLine line_;
};

}  // namespace

CommandLine ParseCommandLine(std::span<const std::string> words,
                             std::span<const FurtherFlag> further) {
  return Parser(words, further).Take();
}

void ApplyCommandLine(const CommandLine& line, Settings& settings, Findings& findings) {
  for (const Problem& warning : line.warnings) findings.AddWarning(warning);
  for (const Option& option : Options()) {
    const auto given = line.given.find(&option);
    if (given == line.given.end()) continue;
    const std::optional<Misfit> misfit = SetTexts(option, given->second, settings);
    findings.SetOutside(option.Path(), "flag --" + option.flags.front(), Join(given->second, ","),
                        !misfit);
    if (misfit) findings.Report(misfit->reason, option.Path(), misfit->message);
  }
}

std::string ConfigFileOf(const CommandLine& line,
                         const std::map<std::string, std::string>& environment) {
  const Option* option = OptionOfFlag("config-file");
  if (const auto given = line.given.find(option); given != line.given.end()) {
    return given->second.back();
  }
  for (const std::string& name : option->variables) {
    const auto variable = environment.find(name);
    if (variable != environment.end()) return variable->second;
  }
  return "";
}

}  // namespace tessera::config::nvidia
