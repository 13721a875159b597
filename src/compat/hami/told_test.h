// SPDX-License-Identifier: Apache-2.0
// For tests: the configuration from HAMi's settings, and the messages about them.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "backend/nvidia/core/nvidia_config.h"
#include "compat/hami/load.h"
#include "compat/hami/options.h"
#include "kinds/kinds.h"

namespace tessera::config::hami {

// Everything that the plugin is started with.
struct Started {
  std::string yaml = "nvidia: {}\n";
  std::string json{};  // of config.json, for node "worker-1"
  std::map<std::string, std::string> environment{};
  std::vector<std::string> words{};
  bool has_cdi = true;  // the node's container runtime

  LoadResult Load() const {
    NodeConfig node;
    if (!json.empty()) {
      auto read = ReadNodeConfig("config.json", json, "worker-1");
      EXPECT_TRUE(read) << (read ? "" : read.error().message);
      if (read) node = *std::move(read);
    }
    const nvidia::CommandLine line = nvidia::ParseCommandLine(words, FurtherFlags());
    EXPECT_EQ(Text(line.errors), "");
    LoadResult loaded = hami::Load(
        FullSchema(),
        {.file = Document::Parse("t.yaml", yaml), .environment = environment, .line = line}, node);
    if (!has_cdi) return loaded;
    // The warning is removed even if an error keeps the choice open.
    std::erase_if(loaded.warnings,
                  [](const Problem& warning) { return warning.reason == Reason::kConfigOpen; });
    return PreferCdi(std::move(loaded), "containerd://2.2.0");
  }
};

// The configuration of good settings, without a warning.
inline Config Good(const Started& started) {
  const LoadResult loaded = started.Load();
  EXPECT_EQ(Text(loaded.errors) + Text(loaded.warnings), "");
  return loaded.config;
}

inline const Resource& GpuOf(const Config& config) {
  return config.resources.at(0);
}
inline const NvidiaConfig& NvidiaOf(const Config& config) {
  return *GpuOf(config).kind.As<NvidiaConfig>();
}

// The messages of errors, then of warnings, one a line.
inline std::string Told(const Started& started) {
  const LoadResult loaded = started.Load();
  std::string out;
  for (const Problem& problem : loaded.errors) out += problem.message + "\n";
  for (const Problem& problem : loaded.warnings) out += "warning: " + problem.message + "\n";
  return out;
}

// "VALUE  # ORIGIN" of one setting.
inline std::string Came(const Started& started, const std::string& path) {
  const LoadResult loaded = started.Load();
  EXPECT_EQ(Text(loaded.errors), "");
  for (const Setting& setting : loaded.Settings()) {
    if (setting.path == path) return setting.value + "  # " + setting.source;
  }
  return "not there";
}

}  // namespace tessera::config::hami
