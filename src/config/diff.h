// SPDX-License-Identifier: Apache-2.0
// What a reload changes. Pure; any thread.
#pragma once

#include <string>
#include <vector>

#include "config/schema.h"
#include "config/schema/config.h"

namespace tessera::config {

// One key with a changed value. A side that lacks the key is empty.
struct Change {
  std::string path{};  // "log.level"; in a resource relative to it: "dummy.count"
  std::string before{};
  std::string after{};
  Effect effect = Effect::kLive;
  bool operator==(const Change&) const = default;
};

struct ResourceChange {
  std::string name{};
  std::vector<Change> changes{};
  bool operator==(const ResourceChange&) const = default;
};

// Compares resources by name, and families with one name also by their order.
struct Difference {
  std::vector<std::string> added{};
  std::vector<std::string> removed{};
  std::vector<ResourceChange> changed{};
  std::vector<Change> settings{};  // the agent's own

  bool Empty() const {
    return added.empty() && removed.empty() && changed.empty() && settings.empty();
  }
};

Difference Compare(const Schema& schema, const Config& running, const Config& next);

// `next` with the values of `running` for settings that need a restart: a reload may apply it.
Config KeepUntilRestart(const Schema& schema, const Config& running, Config next);

// The settings among `changes` that wait for a restart, one sentence each for the log: "state.dir
// stays '/var/lib/tessera' until the agent is restarted; the configuration now says '/data'".
std::vector<std::string> RestartWarnings(const std::vector<Change>& changes);

}  // namespace tessera::config
