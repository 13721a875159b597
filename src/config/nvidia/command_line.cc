// SPDX-License-Identifier: Apache-2.0
#include "config/nvidia/command_line.h"

#include <fmt/core.h>

#include <optional>

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
  for (const PathKey& key : AllKeys()) {
    if (!HasFlag(key) || FlagName(key.path) != name) continue;
    return Bad(name, fmt::format("is a flag of Tessera's own: give it in the environment as {}, or "
                                 "before 'nvidia' with 'tessera agent nvidia'",
                                 EnvironmentName(key.path)));
  }
  return Bad(name, "no such flag", ClosestFlag(name).value_or(""));
}

}  // namespace

CommandLine ParseCommandLine(std::span<const std::string> words) {
  CommandLine line;
  for (size_t i = 0; i < words.size(); ++i) {
    std::string_view word = words[i];
    if (word == "--" && i + 1 == words.size()) break;
    if (word.size() < 2 || word.front() != '-' || word == "--") {
      // What stands behind it would be taken for no flag either, and be without effect.
      line.errors.push_back({.reason = Reason::kConfigUnknownKey,
                             .origin = "command line",
                             .text = words[i],
                             .message = fmt::format("unexpected {}; the value of a switch stands "
                                                    "behind '=', as in --gds-enabled=false",
                                                    Quoted(word))});
      break;
    }
    word.remove_prefix(word.starts_with("--") ? 2 : 1);
    const size_t equals = word.find('=');
    const std::string_view name = word.substr(0, equals);
    std::optional<std::string> value;
    if (equals != std::string_view::npos) value = std::string(word.substr(equals + 1));
    if (name == "help" || name == "h") {
      line.help = true;
      continue;
    }
    if (name == "version" || name == "v") {
      line.version = true;
      continue;
    }
    const Option* option = OptionOfFlag(name);
    if (option == nullptr) {
      line.errors.push_back(Unknown(name));
      // What follows may be its value.
      if (!value && i + 1 < words.size() && !words[i + 1].starts_with('-')) ++i;
      continue;
    }
    if (!value && option->IsSwitch()) value = "true";
    if (!value && i + 1 < words.size()) value = words[++i];
    if (!value) {
      line.errors.push_back(Bad(name, "needs a value"));
      continue;
    }
    line.given[option].push_back(*std::move(value));
  }
  return line;
}

void ApplyCommandLine(const CommandLine& line, Settings& settings, Findings& findings) {
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
  const auto variable = environment.find(option->variables.front());
  return variable == environment.end() ? "" : variable->second;
}

}  // namespace tessera::config::nvidia
