// SPDX-License-Identifier: Apache-2.0
// Merges all sources into checked Settings. Precedence: flag, variable, the scheduler's own file,
// HAMi's device-config.yaml, default. HAMi's file ranks below ours, because a chart writes every
// key of it and a site overrides some in ours. Any thread.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/schema/problem.h"
#include "config/schema/yaml.h"
#include "scheduler/settings/flags.h"
#include "scheduler/settings/own_file.h"
#include "scheduler/settings/settings.h"

namespace tessera::scheduler {

struct Sources {
  std::optional<config::Document> own{};
  std::optional<config::Document> hami{};
  std::map<std::string, std::string> environment{};  // variables outside the table are ignored
  CommandLine line{};
};

struct Loaded {
  Settings settings{};                      // valid only if ok()
  SourcesByKey sources{};                   // of values other than the default
  std::vector<config::Problem> errors{};    // all, in the order of the files
  std::vector<config::Problem> warnings{};  // legal, but probably a mistake
  std::vector<std::string> notes{};         // HAMi's settings without effect, one line each

  bool ok() const { return errors.empty(); }
  // "scheduler.yaml:3", "environment NAME", "flag --NAME" or "default".
  std::string SourceOf(const Option& option) const;
};

Loaded Load(Sources sources);

// Reads the files that the line names, and the variables of the table.
Sources SourcesOf(CommandLine line,
                  const std::function<std::optional<std::string>(const std::string&)>& variable);

}  // namespace tessera::scheduler
