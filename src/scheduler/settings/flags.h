// SPDX-License-Identifier: Apache-2.0
// The scheduler's command line: its own flags and all of HAMi's scheduler, with the rules of the
// library that reads those: a switch takes its value behind "=" alone, and "-v 4", "-v=4" and "-v4"
// are the same. Pure; plain data; any thread.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/schema/problem.h"
#include "scheduler/settings/options.h"

namespace tessera::scheduler {

// Files of settings.
inline constexpr char kOwnFileFlag[] = "config";
inline constexpr char kHamiFileFlag[] = "device-config-file";

struct CommandLine {
  std::map<const Option*, std::string> given{};  // the last value of each
  std::string own_file{};                        // empty: none
  std::string hami_file{};                       // likewise
  // Flags of HAMi's that have none here: "--kube-qps, --kube-burst: WHY".
  std::vector<std::string> without_effect{};
  bool help = false;
  std::vector<config::Problem> errors{};
};

// `words` without the program's own name. A flag with an empty value is as good as none: charts
// cannot always leave one out.
CommandLine ParseFlags(std::span<const std::string> words);

// A flag of HAMi's scheduler that is taken and does nothing.
struct IdleFlag {
  std::string_view name;  // without dashes
  bool is_switch;
  std::string_view why;
};
std::span<const IdleFlag> IdleFlags();

}  // namespace tessera::scheduler
