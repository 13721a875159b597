// SPDX-License-Identifier: Apache-2.0
#include "cli/command/completion.h"

#include <fmt/format.h>

#include <string_view>
#include <vector>

#include "base/text.h"

namespace tessera::cli {
namespace {

struct Place {
  std::string path;  // "tessera devices cordon"
  const Command* command;
};

void Walk(const Command& command, const std::string& path, std::vector<Place>& places) {
  places.push_back({path, &command});
  for (const Command& child : command.commands) Walk(child, path + " " + child.name, places);
}

std::vector<Place> Places(const Command& program) {
  std::vector<Place> places;
  Walk(program, program.name, places);
  return places;
}

bool TakesPath(const Option& option) {
  const std::string& value = option.IsFlag() ? option.value : option.name;
  return value == "PATH" || value == "FILE" || value == "DIR";
}

// In single quotes for a shell.
std::string Quote(std::string_view text) {
  std::string out = "'";
  for (char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

// All words that may follow a command: its commands, the values of its arguments, its flags.
std::string WordsOf(const Command& command) {
  std::vector<std::string> words;
  for (const Command& child : command.commands) words.push_back(child.name);
  for (const Option& option : command.options) {
    if (option.IsFlag()) {
      words.push_back(option.name);
    } else {
      words.insert(words.end(), option.choices.begin(), option.choices.end());
    }
  }
  words.push_back("--help");
  return Join(words, " ");
}

// "tessera devices --output"|"tessera devices -o"
std::string BashPattern(const std::string& path, const Option& option) {
  std::string pattern = fmt::format("\"{} {}\"", path, option.name);
  if (option.letter != 0) pattern += fmt::format("|\"{} -{}\"", path, option.letter);
  return pattern;
}

bool TakesFiles(const Command& command) {
  for (const Option& option : command.options) {
    if (!option.IsFlag() && TakesPath(option)) return true;
  }
  return false;
}

// One argument for zsh's _arguments.
std::string ZshSpec(const Option& option, size_t position) {
  std::string action;
  if (!option.choices.empty()) action = "(" + Join(option.choices, " ") + ")";
  if (TakesPath(option)) action = "_files";
  if (!option.IsFlag()) return Quote(fmt::format("{}:{}:{}", position, option.name, action));
  std::string help;
  for (char c : option.help)
    help += c == '[' || c == ']' || c == ':' ? std::string("\\") + c : std::string(1, c);
  std::string value = option.value.empty() ? "" : fmt::format(":{}:{}", option.value, action);
  if (option.letter == 0) return Quote(fmt::format("{}[{}]{}", option.name, help, value));
  return fmt::format("'(-{0} {1})'{{-{0},{1}}}{2}", option.letter, option.name,
                     Quote(fmt::format("[{}]{}", help, value)));
}

// "tessera devices cordon" -> "_tessera_devices_cordon"
std::string ZshFunction(std::string path) {
  for (char& c : path) {
    if (c == ' ' || c == '-') c = '_';
  }
  return "_" + path;
}

std::string ZshFor(const Place& place) {
  std::string function = ZshFunction(place.path);
  std::string out = function + "() {\n";
  const auto& commands = place.command->commands;
  std::string specs = " \\\n    '(-h --help)'{-h,--help}'[print this help]'";
  size_t position = 0;
  for (const Option& option : place.command->options) {
    specs += " \\\n    " + ZshSpec(option, option.IsFlag() ? 0 : ++position);
  }
  if (commands.empty()) return out + "  _arguments -s" + specs + "\n}\n\n";
  out += "  local line state\n  _arguments -s -C" + specs +
         " \\\n    '1:command:->command' \\\n    '*::arguments:->arguments'\n"
         "  case $state in\n  command)\n    local -a commands=(\n";
  for (const Command& child : commands) {
    out += fmt::format("      {}\n", Quote(child.name + ":" + child.summary));
  }
  out += "    )\n    _describe command commands ;;\n  arguments)\n    case $line[1] in\n";
  for (const Command& child : commands) {
    out += fmt::format("    {}) {} ;;\n", child.name, ZshFunction(place.path + " " + child.name));
  }
  return out + "    esac ;;\n  esac\n}\n\n";
}

}  // namespace

std::string BashCompletion(const Command& program) {
  std::string paths;
  std::string values;
  std::string words;
  for (const Place& place : Places(program)) {
    if (place.command != &program) {
      paths += fmt::format("{}\"{}\"", paths.empty() ? "" : "|", place.path);
    }
    for (const Option& option : place.command->options) {
      if (!option.IsFlag() || option.value.empty()) continue;
      std::string reply =
          TakesPath(option) ? "-f" : fmt::format("-W {}", Quote(Join(option.choices, " ")));
      values += fmt::format("    {}) COMPREPLY=($(compgen {} -- \"$word\")); return ;;\n",
                            BashPattern(place.path, option), reply);
    }
    words +=
        fmt::format("    {}) COMPREPLY=($(compgen {}-W {} -- \"$word\")) ;;\n", Quote(place.path),
                    TakesFiles(*place.command) ? "-f " : "", Quote(WordsOf(*place.command)));
  }
  return fmt::format(R"(# bash completion for {0}, made by '{0} completion bash'
_{0}() {{
  local word="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}" path={0} i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$path ${{COMP_WORDS[i]}}" in
    {1}) path="$path ${{COMP_WORDS[i]}}" ;;
    esac
  done
  case "$path $before" in
{2}  esac
  case "$path" in
{3}  esac
}}
complete -F _{0} {0}
)",
                     program.name, paths, values, words);
}

std::string ZshCompletion(const Command& program) {
  std::string out = fmt::format(
      "#compdef {0}\n# zsh completion for {0}, made by '{0} completion zsh'\n\n", program.name);
  for (const Place& place : Places(program)) out += ZshFor(place);
  // Works as a file in $fpath and when it is sourced.
  return out + fmt::format(R"(if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
  _{0} "$@"
else
  compdef _{0} {0}
fi
)",
                           program.name);
}

}  // namespace tessera::cli
