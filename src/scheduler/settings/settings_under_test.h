// SPDX-License-Identifier: Apache-2.0
// Loads settings from texts. For tests.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "scheduler/settings/load.h"

namespace tessera::scheduler {

struct Given {
  std::string own{};   // after the version line; empty: no file
  std::string hami{};  // empty: no file
  std::map<std::string, std::string> environment{};
  std::vector<std::string> words{};
};

inline Loaded LoadGiven(const Given& given) {
  Sources sources{.environment = given.environment, .line = ParseFlags(given.words)};
  if (!given.own.empty()) {
    sources.own = config::Document::Parse("s.yaml", "version: tessera-scheduler/v1\n" + given.own);
  }
  if (!given.hami.empty()) sources.hami = config::Document::Parse("h.yaml", given.hami);
  return Load(std::move(sources));
}

inline std::string ToldOf(const Given& given) {
  return config::Text(LoadGiven(given).errors);
}

inline Settings Good(const Given& given) {
  const Loaded loaded = LoadGiven(given);
  EXPECT_EQ(config::Text(loaded.errors), "");
  return loaded.settings;
}

}  // namespace tessera::scheduler
