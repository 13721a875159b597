// SPDX-License-Identifier: Apache-2.0
// The command line of another product's plugin in Go, by the rules of Go's package flag: "-x" is
// "--x", a switch takes its value only after "=", and the first word that is no flag ends them.
// Pure; any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/schema/problem.h"

namespace tessera::config {

struct GoFlag {
  std::string_view name{};   // without dashes
  std::string_view value{};  // what it takes, for --help; empty: it is a switch
  std::string_view doc{};    // for --help; empty: one of the plugin itself, which has no effect
};

struct GoCommandLine {
  std::vector<std::pair<std::string, std::string>> values{};  // in their order; a switch has "true"
  bool help = false;                                          // no flag after it was read
  std::vector<Problem> errors{};
  std::vector<Problem> warnings{};

  // The last value of the flag.
  std::string ValueOf(std::string_view name, std::string_view otherwise) const;
};

// `words`: without the program's name.
GoCommandLine ParseGoFlags(std::span<const GoFlag> flags, std::span<const std::string> words);
// A problem of one flag.
Problem BadGoFlag(std::string_view name, std::string message);

}  // namespace tessera::config
