// SPDX-License-Identifier: Apache-2.0
// A subcommand as data: what it is called, what it takes, examples, and the function that does it.
// The parser, --help, the shell completions and the man page are all made from this one tree. Plain
// data; one thread.
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
  std::string value{};  // what follows a flag: "FORMAT"; empty: a switch
  std::string help{};
  char letter = 0;                     // 'o' for "-o"
  std::string fallback{};              // the value when it is not given
  std::string environment{};           // the variable that is read when it is not given
  std::string note{};                  // what else --help says: "[default: it depends]"
  std::vector<std::string> choices{};  // the only values; empty: any
  bool required = false;
  bool repeated = false;  // a flag that may be given several times: see Arguments::repeated

  bool IsFlag() const { return name.starts_with("--"); }
  // "output" for "--output": the key in Arguments.
  std::string Key() const { return IsFlag() ? name.substr(2) : name; }
};

struct Example {
  std::string line;     // "tessera devices -o wide"
  std::string meaning;  // one sentence
};

// What was given on the command line, by Option::Key. Options with a fallback are always there.
class Arguments {
 public:
  void Set(std::string key, std::string value) { values_[std::move(key)] = std::move(value); }
  void Add(std::string key, std::string value) {
    repeated_.emplace_back(std::move(key), std::move(value));
  }
  bool Has(std::string_view key) const { return values_.find(key) != values_.end(); }
  // Empty when it was not given.
  std::string Get(std::string_view key) const {
    auto found = values_.find(key);
    return found == values_.end() ? "" : found->second;
  }
  const std::map<std::string, std::string, std::less<>>& values() const { return values_; }
  // What stands behind a command that reads its words by itself.
  const std::vector<std::string>& words() const { return words_; }
  void SetWords(std::vector<std::string> words) { words_ = std::move(words); }
  // The flags that may be repeated, with their values, in the order they were given.
  const std::vector<std::pair<std::string, std::string>>& repeated() const { return repeated_; }

 private:
  std::map<std::string, std::string, std::less<>> values_;
  std::vector<std::pair<std::string, std::string>> repeated_;
  std::vector<std::string> words_;
};

struct Command {
  std::string name{};
  std::string summary{};      // a few words, for lists
  std::string description{};  // paragraphs, parted by empty lines
  std::vector<Option> options{};
  std::vector<Example> examples{};
  std::vector<Command> commands{};
  // Its command line has rules of its own: whatever follows its name, --help included, is in
  // Arguments::words. `options` are for the help alone.
  bool reads_words = false;
  // Returns the exit code. Empty: one of `commands` must be given.
  std::function<int(const Arguments&)> run{};
};

}  // namespace tessera::cli
