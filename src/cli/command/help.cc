// SPDX-License-Identifier: Apache-2.0
#include "cli/command/help.h"

#include <fmt/format.h>

#include "base/text.h"
#include "cli/command/layout.h"

namespace tessera::cli {
namespace {

constexpr size_t kColumns = 80;
constexpr size_t kWidestName = 30;

struct Entry {
  std::string name;
  std::string text;
};

// "-o, --output FORMAT"
std::string FlagTerm(const Option& option) {
  std::string letter = option.letter == 0 ? "    " : std::string("-") + option.letter + ", ";
  return letter + option.name + (option.value.empty() ? "" : " " + option.value);
}

// Names on the left, texts next to them, or below a name that is too wide.
std::string Section(std::string_view title, const std::vector<Entry>& entries) {
  if (entries.empty()) return "";
  size_t width = 0;
  for (const Entry& entry : entries) {
    if (entry.name.size() <= kWidestName) width = std::max(width, entry.name.size());
  }
  std::string out = fmt::format("\n{}:\n", title);
  for (const Entry& entry : entries) {
    bool beside = entry.name.size() <= width;
    out += fmt::format("  {:{}}", entry.name, beside ? width + 2 : 0);
    if (!beside) out += fmt::format("\n{:{}}", "", width + 4);
    auto lines = Wrap(entry.text, kColumns - width - 4);
    out += Join(lines, "\n" + std::string(width + 4, ' ')) + "\n";
  }
  return out;
}

std::vector<Entry> Flags(const Command& command) {
  std::vector<Entry> entries;
  for (const Option& option : command.options) {
    if (option.IsFlag()) entries.push_back({FlagTerm(option), OptionText(option)});
  }
  entries.push_back({"-h, --help", "print this help"});
  return entries;
}

std::string Examples(const Command& command) {
  std::string out;
  for (const Example& example : command.examples) {
    out += fmt::format("  {}\n", example.line);
    for (const std::string& line : Wrap(example.meaning, kColumns - 6))
      out += "      " + line + "\n";
  }
  return out.empty() ? "" : "\nExamples:\n" + out;
}

}  // namespace

std::string OptionText(const Option& option) {
  std::string text = option.help;
  if (!option.choices.empty()) text += " (" + Join(option.choices, ", ") + ")";
  if (option.repeated) text += " [may be repeated]";
  if (option.required && option.IsFlag()) text += " [required]";
  if (!option.fallback.empty()) text += fmt::format(" [default: {}]", option.fallback);
  if (!option.environment.empty()) text += fmt::format(" [env: {}]", option.environment);
  if (!option.note.empty()) text += " " + option.note;
  return text;
}

std::string UsageLine(const Command& command, std::string_view path) {
  std::string line = fmt::format("{} [OPTIONS]", path);
  for (const Option& option : command.options) {
    if (option.IsFlag()) continue;
    line += option.required ? " " + option.name : " [" + option.name + "]";
  }
  if (command.commands.empty()) return line;
  return line + (command.run ? " [COMMAND]" : " COMMAND");
}

std::string HelpText(const Command& command, std::string_view path) {
  std::string out = Join(Wrap(command.description, kColumns), "\n") + "\n";
  out += fmt::format("\nUsage: {}\n", UsageLine(command, path));
  std::vector<Entry> commands;
  for (const Command& child : command.commands) commands.push_back({child.name, child.summary});
  std::vector<Entry> positionals;
  for (const Option& option : command.options) {
    if (!option.IsFlag()) positionals.push_back({option.name, OptionText(option)});
  }
  out += Section("Commands", commands);
  out += Section("Arguments", positionals);
  out += Section("Options", Flags(command));
  out += Examples(command);
  std::vector<std::string> codes;
  for (const ExitCode& exit : kExitCodes)
    codes.push_back(fmt::format("{} {}", exit.code, exit.meaning));
  auto lines = Wrap("Exit codes: " + Join(codes, ", ") + ".", kColumns);
  return out + "\n" + Join(lines, "\n") + "\n";
}

}  // namespace tessera::cli
