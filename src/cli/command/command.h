// SPDX-License-Identifier: Apache-2.0
// A subcommand as data: name, options, examples, and the function that runs it. The parser, --help,
// shell completions and the man page come from one tree of them. Plain data; one thread.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera::cli {

// Exit codes, the same for every subcommand.
inline constexpr int kOk = 0;
inline constexpr int kFailed = 1;
inline constexpr int kUsage = 2;

// A flag ("--output") or, in capitals, an argument without one ("DEVICE").
struct Option {
  std::string name{};
  std::string value{};  // a flag's value, by name: "FORMAT"; empty: a switch
  std::string help{};
  char letter = 0;                     // 'o' for "-o"
  std::string fallback{};              // the default value
  std::string environment{};           // the variable that is read without the flag
  std::string note{};                  // a note for --help: "[default: it depends]"
  std::vector<std::string> choices{};  // the only values; empty: any
  bool required = false;
  bool repeated = false;  // the flag may be given several times: see Arguments::repeated

  bool IsFlag() const { return name.starts_with("--"); }
  // "output" for "--output": the key in Arguments.
  std::string Key() const { return IsFlag() ? name.substr(2) : name; }
};

struct Example {
  std::string line;     // "tessera devices -o wide"
  std::string meaning;  // one sentence
};

// The values on the command line, by Option::Key. An option with a fallback always has one.
class Arguments {
 public:
  void Set(std::string key, std::string value) { values_[std::move(key)] = std::move(value); }
  void Add(std::string key, std::string value) {
    repeated_.emplace_back(std::move(key), std::move(value));
  }
  bool Has(std::string_view key) const { return values_.find(key) != values_.end(); }
  // Empty: not given.
  std::string Get(std::string_view key) const {
    auto found = values_.find(key);
    return found == values_.end() ? "" : found->second;
  }
  const std::map<std::string, std::string, std::less<>>& values() const { return values_; }
  // The words of a command that reads them by itself.
  const std::vector<std::string>& words() const { return words_; }
  void SetWords(std::vector<std::string> words) { words_ = std::move(words); }
  // The repeatable flags with their values, in the order given.
  const std::vector<std::pair<std::string, std::string>>& repeated() const { return repeated_; }

 private:
  std::map<std::string, std::string, std::less<>> values_;
  std::vector<std::pair<std::string, std::string>> repeated_;
  std::vector<std::string> words_;
};

struct Command {
  std::string name{};
  std::string summary{};      // a few words, for lists
  std::string description{};  // paragraphs, separated by empty lines
  std::vector<Option> options{};
  std::vector<Example> examples{};
  std::vector<Command> commands{};
  // The command has its own rules: all words after its name, --help included, are in
  // Arguments::words. `options` are only for the help.
  bool reads_words = false;
  // Returns the exit code. Empty: one of `commands` is required.
  std::function<int(const Arguments&)> run{};
};

}  // namespace tessera::cli
