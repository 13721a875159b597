// SPDX-License-Identifier: Apache-2.0
#include "scheduler/settings/print.h"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "config/schema/yaml_text.h"
#include "scheduler/settings/options.h"

namespace tessera::scheduler {
namespace {

// The column of comments; a longer line pushes its comment right.
constexpr size_t kCommentColumn = 44;

std::string ValueOf(const Option& option, const Settings& settings) {
  std::vector<std::string> texts = TextsOf(option, settings);
  const bool is_text =
      option.IsList() || std::holds_alternative<std::string Settings::*>(option.member);
  if (!is_text) return texts.front();
  for (std::string& text : texts) text = config::YamlText(text);
  return option.IsList() ? fmt::format("[{}]", Join(texts, ", ")) : texts.front();
}

std::string Code(std::string_view text) {
  return fmt::format("`{}`", text);
}

std::string TypeCell(const Option& option) {
  std::string values;
  for (const std::string& value : option.values) {
    values += (values.empty() ? "" : ", ") + Code(value);
  }
  if (option.IsSwitch()) return "true or false";
  if (option.IsList()) return values.empty() ? "list of texts" : "list of " + values;
  if (!values.empty()) return "one of " + values;
  if (std::holds_alternative<int64_t Settings::*>(option.member)) {
    return fmt::format("whole number, {} to {}", option.min, option.max);
  }
  if (std::holds_alternative<Duration Settings::*>(option.member)) {
    return fmt::format("time, {} to {}", FormatDuration(Duration(option.min)),
                       FormatDuration(Duration(option.max)));
  }
  return "text";
}

std::string DefaultCell(const Option& option) {
  if (!option.usual.empty()) return std::string(option.usual);
  return Code(ValueOf(option, Settings()));
}

std::string SettingsTable() {
  std::string out =
      "| Key | Type | Default | Meaning |\n|---|---|---|---|\n| `version` | text | "
      "none: it must be there | Always `tessera-scheduler/v1`. |\n";
  for (const Option& option : Options()) {
    if (option.key.empty()) continue;
    out += fmt::format("| {} | {} | {} | {} |\n", Code(option.key), TypeCell(option),
                       DefaultCell(option), option.doc);
  }
  return out;
}

std::string OriginsTable() {
  const auto cell = [](std::string_view prefix, std::string_view name) {
    return name.empty() ? "" : Code(fmt::format("{}{}", prefix, name));
  };
  std::string out =
      "| Key | Flag | Variable | HAMi's `device-config.yaml` |\n|---|---|---|---|\n"
      "| none: our own file | `--config` | | |\n"
      "| none: HAMi's file | `--device-config-file` | | |\n";
  for (const Option& option : Options()) {
    if (option.flag.empty() && option.hami.empty()) continue;
    const bool is_short = option.flag.size() == 1;
    out += fmt::format("| {} | {} | {} | {} |\n",
                       option.key.empty() ? std::string(option.doc) : Code(option.key),
                       cell(is_short ? "-" : "--", option.flag), cell("", option.variable),
                       cell("nvidia.", option.hami));
  }
  return out;
}

std::string IdleTable() {
  std::string out = "| Flags without effect | Why |\n|---|---|\n";
  std::vector<std::string_view> told;
  for (const IdleFlag& flag : IdleFlags()) {
    if (std::ranges::count(told, flag.why) > 0) continue;
    told.push_back(flag.why);
    std::string names;
    for (const IdleFlag& other : IdleFlags()) {
      if (other.why != flag.why) continue;
      names += (names.empty() ? "" : ", ") + Code(fmt::format("--{}", other.name));
    }
    out += fmt::format("| {} | {} |\n", names, flag.why);
  }
  return out;
}

// The resource names of other vendors, for which our file has no key.
std::string OthersText(const Settings& settings) {
  std::string out;
  for (const hami::VendorConfig& config : settings.others) {
    std::vector<std::string> names = {config.count, config.memory, config.cores};
    std::erase(names, "");
    out += fmt::format("# {}{}{}: {}\n", config.family, config.word.empty() ? "" : " ", config.word,
                       Join(names, ", "));
  }
  return out;
}

}  // namespace

std::string PrintYaml(const Loaded& loaded) {
  std::string out = fmt::format("version: {}\n", kVersion);
  std::vector<std::string> open;  // sections that contain the last line
  for (const Option& option : Options()) {
    if (option.key.empty()) continue;
    std::vector<std::string> parts = Split(std::string(option.key), '.');
    const std::string name = parts.back();
    parts.pop_back();
    const auto differ = std::ranges::mismatch(open, parts).in2;
    for (auto part = differ; part != parts.end(); ++part) {
      out += fmt::format("{}{}:\n", std::string(2 * (part - parts.begin()), ' '), *part);
    }
    open = parts;
    const std::string line = fmt::format("{}{}: {}", std::string(2 * parts.size(), ' '), name,
                                         ValueOf(option, loaded.settings));
    out += fmt::format("{:<{}}  # {}\n", line, kCommentColumn, loaded.SourceOf(option));
  }
  return out + OthersText(loaded.settings);
}

std::string MarkdownReference() {
  return fmt::format("{}\n### Flags, variables and HAMi's file\n\n{}\n{}", SettingsTable(),
                     OriginsTable(), IdleTable());
}

}  // namespace tessera::scheduler
