// SPDX-License-Identifier: Apache-2.0
// From what a person wrote to checked Settings. A flag overrides a variable, which overrides the
// scheduler's own file, which overrides HAMi's device-config.yaml, which overrides the default: a
// chart writes every key of HAMi's file, and one that is to be another stands in ours. Any thread.
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
  std::map<std::string, std::string> environment{};  // others than the table's are ignored
  CommandLine line{};
};

struct Loaded {
  Settings settings{};                      // to be used only when ok()
  SourcesByKey sources{};                   // of what is not the default
  std::vector<config::Problem> errors{};    // all of them, in the order of the files
  std::vector<config::Problem> warnings{};  // what is legal, but surely not meant
  std::vector<std::string> notes{};         // what of HAMi's has no effect here, a line each

  bool ok() const { return errors.empty(); }
  // "scheduler.yaml:3", "environment NAME", "flag --NAME" or "default".
  std::string SourceOf(const Option& option) const;
};

Loaded Load(Sources sources);

// What the line names: its files are read, and of the environment what the table has.
Sources SourcesOf(CommandLine line,
                  const std::function<std::optional<std::string>(const std::string&)>& variable);

}  // namespace tessera::scheduler
