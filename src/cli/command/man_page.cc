// SPDX-License-Identifier: Apache-2.0
#include "cli/command/man_page.h"

#include <fmt/format.h>

#include <map>

#include "base/text.h"
#include "cli/command/help.h"

namespace tessera::cli {
namespace {

// Escapes text for roff: no request at the start of a line, hyphens as typed.
std::string Escape(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else if (c == '\'') {
      out += "\\(aq";
    } else if (c == '\n') {
      out += ' ';
    } else {
      out += c;
    }
  }
  return out.starts_with('.') ? "\\&" + out : out;
}

std::string Bold(std::string_view text) {
  return "\\fB" + Escape(text) + "\\fR";
}
std::string Italic(std::string_view text) {
  return "\\fI" + Escape(text) + "\\fR";
}

std::string Paragraphs(std::string_view text) {
  std::string out;
  std::string paragraph;
  for (const std::string& line : Split(text, '\n')) {
    if (!line.empty()) {
      paragraph += (paragraph.empty() ? "" : " ") + line;
      continue;
    }
    out += ".PP\n" + Escape(paragraph) + "\n";
    paragraph.clear();
  }
  return out + ".PP\n" + Escape(paragraph) + "\n";
}

std::string Item(const std::string& term, const std::string& text) {
  return ".TP\n" + term + "\n" + text + "\n";
}

std::string OptionItem(const Option& option) {
  std::string term = option.IsFlag() ? Bold(option.name) : Italic(option.name);
  if (option.letter != 0) term = Bold(std::string("-") + option.letter) + ", " + term;
  if (!option.value.empty()) term += " " + Italic(option.value);
  return Item(term, Escape(OptionText(option)));
}

std::string ExamplesSection(const Command& command) {
  std::string out;
  for (const Example& example : command.examples) {
    out += ".PP\n" + Escape(example.meaning) + "\n.PP\n.nf\n.RS\n" + Escape(example.line) +
           "\n.RE\n.fi\n";
  }
  return out;
}

// One command and those below it.
std::string Section(const Command& command, const std::string& path) {
  std::string out =
      ".SS " + Escape(UsageLine(command, path)) + "\n" + Paragraphs(command.description);
  for (const Option& option : command.options) out += OptionItem(option);
  if (!command.examples.empty()) out += ExamplesSection(command);
  for (const Command& child : command.commands) out += Section(child, path + " " + child.name);
  return out;
}

void CollectEnvironment(const Command& command, std::map<std::string, std::string>& variables) {
  for (const Option& option : command.options) {
    if (!option.environment.empty()) variables.emplace(option.environment, option.help);
  }
  for (const Command& child : command.commands) CollectEnvironment(child, variables);
}

std::string Environment(const Command& program) {
  std::map<std::string, std::string> variables = {
      {"NO_COLOR", "when it is set and not empty, nothing is coloured"}};
  CollectEnvironment(program, variables);
  std::string out = ".SH ENVIRONMENT\n";
  for (const auto& [name, help] : variables) out += Item(Bold(name), Escape(help));
  return out;
}

}  // namespace

std::string ManPage(const Command& program, std::string_view version) {
  std::string upper = program.name;
  for (char& c : upper) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  std::string out = fmt::format(".TH {} 1 \"\" \"{} {}\" \"User Commands\"\n", upper, program.name,
                                Escape(version));
  out += fmt::format(".SH NAME\n{} \\- {}\n", program.name, Escape(program.summary));
  out += fmt::format(".SH SYNOPSIS\n{} {} [{}]\n", Bold(program.name), Italic("COMMAND"),
                     Italic("OPTIONS"));
  out += ".SH DESCRIPTION\n" + Paragraphs(program.description) + ".SH COMMANDS\n";
  for (const Command& command : program.commands)
    out += Section(command, program.name + " " + command.name);
  out += Environment(program) + ".SH EXIT STATUS\n";
  for (const ExitCode& exit : kExitCodes) {
    out += Item(Bold(std::to_string(exit.code)), Escape(exit.meaning));
  }
  return out + ".SH EXAMPLES\n" + ExamplesSection(program);
}

}  // namespace tessera::cli
