// SPDX-License-Identifier: Apache-2.0
#include "compat/go_flags/go_flags.h"

#include <fmt/core.h>

#include <algorithm>
#include <ranges>

#include "base/text.h"

namespace tessera::config {
namespace {

Problem UnknownFlag(std::span<const GoFlag> flags, std::string_view name) {
  std::vector<std::string> names;
  for (const GoFlag& flag : flags) names.emplace_back(flag.name);
  Problem problem = BadGoFlag(name, "no such flag");
  problem.reason = Reason::kConfigUnknownKey;
  problem.suggestion = Closest(name, names).value_or("");
  return problem;
}

Problem NoFlag(const std::string& word) {
  return {.reason = Reason::kConfigUnknownKey,
          .origin = "command line",
          .text = word,
          .message = fmt::format("{} and the arguments after it have no effect, as in the plugin",
                                 Quoted(word))};
}

}  // namespace

std::string GoCommandLine::ValueOf(std::string_view name, std::string_view otherwise) const {
  for (const auto& [flag, value] : std::views::reverse(values)) {
    if (flag == name) return value;
  }
  return std::string(otherwise);
}

GoCommandLine ParseGoFlags(std::span<const GoFlag> flags, std::span<const std::string> words) {
  GoCommandLine line;
  for (size_t i = 0; i < words.size(); ++i) {
    std::string_view word = words[i];
    if (word.size() < 2 || word.front() != '-' || word == "--") {
      line.warnings.push_back(NoFlag(words[i]));
      break;
    }
    word.remove_prefix(word.starts_with("--") ? 2 : 1);
    const std::string_view name = word.substr(0, word.find('='));
    line.help = line.help || name == "h" || name == "help";
    if (line.help) break;
    const auto flag = std::ranges::find(flags, name, &GoFlag::name);
    if (flag == flags.end()) {
      line.errors.push_back(UnknownFlag(flags, name));
      continue;
    }
    const bool has_value = name.size() < word.size();
    std::string value = has_value ? std::string(word.substr(name.size() + 1)) : "true";
    if (!has_value && !flag->value.empty()) {
      if (i + 1 == words.size()) {
        line.errors.push_back(BadGoFlag(name, "needs a value"));
        break;
      }
      value = words[++i];
    }
    line.values.emplace_back(name, std::move(value));
  }
  return line;
}

Problem BadGoFlag(std::string_view name, std::string message) {
  return {.reason = Reason::kConfigBadValue,
          .origin = fmt::format("flag -{}", name),
          .text = std::string(name),
          .message = std::move(message)};
}

}  // namespace tessera::config
