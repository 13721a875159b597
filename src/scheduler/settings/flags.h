// SPDX-License-Identifier: Apache-2.0
// Parses the scheduler's command line: its own flags and all flags of HAMi's scheduler, by the
// rules of Go's pflag. A switch takes a value only after "=". "-v 4", "-v=4" and "-v4" are the
// same. Pure. Plain data. Any thread.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/schema/problem.h"
#include "scheduler/settings/options.h"

namespace tessera::scheduler {

// Flags that name settings files.
inline constexpr char kOwnFileFlag[] = "config";
inline constexpr char kHamiFileFlag[] = "device-config-file";

struct CommandLine {
  std::map<const Option*, std::string> given{};  // the last value of each flag
  std::string own_file{};                        // empty: none
  std::string hami_file{};                       // empty: none
  // HAMi's flags without effect here: "--kube-qps, --kube-burst: WHY".
  std::vector<std::string> without_effect{};
  bool help = false;
  std::vector<config::Problem> errors{};
};

// `words` excludes the program's name. A flag with an empty value counts as absent, since charts
// cannot always omit one.
CommandLine ParseFlags(std::span<const std::string> words);

// A flag of HAMi's scheduler that is accepted and ignored.
struct IdleFlag {
  std::string_view name;  // without dashes
  bool is_switch;
  std::string_view why;
};
std::span<const IdleFlag> IdleFlags();

}  // namespace tessera::scheduler
