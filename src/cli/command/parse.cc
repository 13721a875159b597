// SPDX-License-Identifier: Apache-2.0
#include "cli/command/parse.h"

#include <fmt/core.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <deque>
#include <map>
#include <optional>

#include "base/text.h"
#include "cli/command/help.h"
#include "cli/command/output.h"
#include "config/schema/scalar.h"

namespace tessera::cli {
namespace {

// One command with its counterpart in the parser.
struct Node {
  struct Slot {
    const Option* option;
    CLI::Option* parser = nullptr;  // null: not given
    std::string text{};
    std::vector<std::string> texts{};  // of a flag that may be repeated
    bool on = false;
  };

  const Command* command;
  CLI::App* app;
  std::string path;          // "tessera devices"
  std::deque<Slot> slots{};  // the parser keeps pointers to them
  std::deque<Node> children{};
};

// Whether the parser must know the option. It compares each flag with all others, so all flags of
// the agent would take a tenth of a millisecond.
bool MayBeGiven(const Option& option, const std::vector<std::string>& words) {
  if (!option.IsFlag() || option.required || option.letter != 0) return true;
  return !option.environment.empty() || std::ranges::any_of(words, [&](const std::string& word) {
    return word.starts_with(option.name);
  });
}

void AddOption(Node& node, const Option& option, const std::vector<std::string>& words) {
  Node::Slot& slot = node.slots.emplace_back(Node::Slot{.option = &option});
  if (!MayBeGiven(option, words)) return;
  std::string names = option.name;
  if (option.letter != 0) names = std::string("-") + option.letter + "," + names;
  if (option.IsFlag() && option.value.empty()) {
    slot.parser = node.app->add_flag(names, slot.on);
    return;
  }
  if (option.repeated) {
    // One value for each time, not all words that follow.
    slot.parser = node.app->add_option(names, slot.texts)->allow_extra_args(false);
  } else {
    slot.parser = node.app->add_option(names, slot.text);
    if (option.IsFlag()) slot.parser->take_last();
  }
  slot.parser->type_name(option.value);
  if (!option.environment.empty()) slot.parser->envname(option.environment);
  if (option.required) slot.parser->required();
}

// Only named commands are given to the parser: all of them would take a millisecond.
void Build(Node& node, const std::vector<std::string>& words) {
  for (const Option& option : node.command->options) AddOption(node, option, words);
  for (const Command& command : node.command->commands) {
    if (std::find(words.begin(), words.end(), command.name) == words.end()) continue;
    CLI::App* app = node.app->add_subcommand(command.name);
    Build(node.children.emplace_back(Node{&command, app, node.path + " " + command.name}), words);
  }
  if (!node.command->commands.empty()) node.app->require_subcommand(0, 1);
}

// The nodes from the root to the named command, as far as the parser got.
std::vector<const Node*> Chain(const Node& root) {
  std::vector<const Node*> chain = {&root};
  while (true) {
    auto named = chain.back()->app->get_subcommands();
    if (named.empty()) return chain;
    for (const Node& child : chain.back()->children) {
      if (child.app == named.front()) {
        chain.push_back(&child);
        break;
      }
    }
  }
}

// Collects the values of repeatable flags. The parser has the order of flags, and each flag the
// order of its values.
void CollectRepeated(const Node& node, Arguments& arguments) {
  std::map<const CLI::Option*, size_t> taken;
  for (const CLI::Option* given : node.app->parse_order()) {
    for (const Node::Slot& slot : node.slots) {
      if (slot.parser == given && slot.option->repeated) {
        arguments.Add(slot.option->Key(), slot.texts.at(taken[given]++));
      }
    }
  }
}

Arguments Collect(const std::vector<const Node*>& chain) {
  Arguments arguments;
  for (const Node* node : chain) {
    for (const Node::Slot& slot : node->slots) {
      std::string key = slot.option->Key();
      if (slot.option->repeated) continue;
      bool is_switch = slot.option->IsFlag() && slot.option->value.empty();
      if (is_switch) {
        if (slot.on) arguments.Set(key, "true");
      } else if (slot.parser != nullptr && slot.parser->count() > 0) {
        arguments.Set(key, slot.text);
      } else if (!slot.option->fallback.empty() && !arguments.Has(key)) {
        arguments.Set(key, slot.option->fallback);
      }
    }
    CollectRepeated(*node, arguments);
  }
  return arguments;
}

bool TakesFile(const Command& command) {
  return std::ranges::any_of(command.options,
                             [](const Option& option) { return option.name == "--config"; });
}

// The message for an unknown word.
std::string Unknown(const Node& node, const std::string& word) {
  bool flag = word.starts_with("-");
  std::vector<std::string> known;
  if (flag) {
    for (const Option& option : node.command->options) known.push_back(option.name);
  } else {
    for (const Command& command : node.command->commands) known.push_back(command.name);
  }
  std::string text = flag ? fmt::format("there is no flag '{}'", word)
                     : node.command->commands.empty()
                         ? fmt::format("unexpected argument '{}'", word)
                         : fmt::format("there is no command '{}'", word);
  if (!flag && word.find_first_of("./") != std::string::npos && TakesFile(*node.command)) {
    return fmt::format("{}; did you mean '--config {}'?", text, word);
  }
  auto meant = Closest(word.substr(0, word.find('=')), known);
  return meant ? fmt::format("{}; did you mean '{}'?", text, *meant) : text;
}

// The message for a value outside its option's choices; null: all are good. The parser has the
// words even after an error.
std::optional<std::string> WrongChoice(const std::vector<const Node*>& chain) {
  for (const Node* node : chain) {
    for (const Node::Slot& slot : node->slots) {
      if (slot.parser == nullptr || slot.option->choices.empty()) continue;
      for (const std::string& word : slot.parser->results()) {
        auto read = config::ReadOneOf(word, slot.option->choices);
        if (read) continue;
        std::string text = fmt::format("{} {}", slot.option->name, read.error().message);
        const std::string& meant = read.error().suggestion;
        return meant.empty() ? text : fmt::format("{}; did you mean '{}'?", text, meant);
      }
    }
  }
  return {};
}

// The message for the parser's error.
std::string Explain(const std::vector<const Node*>& chain, const CLI::Error& error) {
  const Node& node = *chain.back();
  // An unknown word explains more than a missing option that follows from it.
  if (auto unknown = node.app->remaining(); !unknown.empty()) return Unknown(node, unknown.front());
  if (auto wrong = WrongChoice(chain)) return *wrong;
  std::string text = error.what();
  if (error.get_name() != "ArgumentMismatch") return text;
  for (const Node::Slot& slot : node.slots) {
    const Option& option = *slot.option;
    if (!text.starts_with(option.name + ":")) continue;
    return fmt::format("{} needs a value: {}", option.name,
                       option.choices.empty() ? option.value : config::Listed(option.choices));
  }
  return text;
}

Parsed Misuse(const Node& node, const std::string& what) {
  Parsed parsed;
  parsed.exit_code = kUsage;
  parsed.text = fmt::format("{0}: {1}\n'{0} --help' says more\n", node.path, what);
  return parsed;
}

// Whether a command with that name, at or below this one, reads its words by itself.
bool HasReader(const Command& command, std::string_view name) {
  if (command.reads_words && command.name == name) return true;
  return std::ranges::any_of(command.commands,
                             [&](const Command& child) { return HasReader(child, name); });
}

// The message for a flag with an empty value after '=', as from an empty variable of a script. The
// parser would take the next word as its value.
std::optional<Parsed> Emptied(const Node& root, const std::vector<std::string>& words) {
  const Node* node = &root;
  for (const std::string& word : words) {
    if (word == "--") break;
    if (word.starts_with("--") && word.find('=') == word.size() - 1) {
      return Misuse(*node,
                    fmt::format("{} has no value after its '='", word.substr(0, word.size() - 1)));
    }
    const auto named = std::ranges::find(node->children, word, [](const Node& child) {
      return std::string_view(child.command->name);
    });
    if (named != node->children.end()) node = &*named;
  }
  return {};
}

Parsed ParseAll(const Command& program, const std::vector<std::string>& words) {
  CLI::App app;
  Node root{&program, &app, program.name};
  try {
    Build(root, words);
    if (auto misuse = Emptied(root, words)) return *misuse;
    // The parser takes its words from the end.
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::CallForHelp&) {
    const Node& node = *Chain(root).back();
    // The help of another command than the misspelt one would not help.
    if (auto unknown = node.app->remaining(); !unknown.empty()) {
      return Misuse(node, Unknown(node, unknown.front()));
    }
    return {.text = HelpText(*node.command, node.path)};
  } catch (const CLI::Error& error) {
    auto chain = Chain(root);
    return Misuse(*chain.back(), Explain(chain, error));
  }
  auto chain = Chain(root);
  if (auto wrong = WrongChoice(chain)) return Misuse(*chain.back(), *wrong);
  const Node& node = *chain.back();
  if (!node.command->run) {
    return {.text = HelpText(*node.command, node.path), .exit_code = kUsage};
  }
  return {.command = node.command, .arguments = Collect(chain)};
}

}  // namespace

Parsed Parse(const Command& program, const std::vector<std::string>& words) {
  for (auto word = words.begin(); word != words.end(); ++word) {
    if (!HasReader(program, *word)) continue;
    // The word may also be a flag's value; then another command results.
    Parsed parsed = ParseAll(program, {words.begin(), word + 1});
    if (parsed.command == nullptr || !parsed.command->reads_words) continue;
    parsed.arguments.SetWords({word + 1, words.end()});
    return parsed;
  }
  return ParseAll(program, words);
}

void TranslateHabits(std::vector<std::string>& words) {
  if (words == std::vector<std::string>{"--version"}) words = {"version"};
  if (words.empty() || words.front() != "help") return;
  words.erase(words.begin());
  words.emplace_back("--help");
}

int Run(const Command& program, const std::vector<std::string>& words) {
  Parsed parsed = Parse(program, words);
  if (parsed.command != nullptr) return parsed.command->run(parsed.arguments);
  if (parsed.exit_code == kOk) return Print(parsed.text);
  PrintToError(parsed.text);
  return parsed.exit_code;
}

}  // namespace tessera::cli
