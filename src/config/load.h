// SPDX-License-Identifier: Apache-2.0
// Loads and checks a Config. A flag overrides an environment variable, which overrides the file,
// which overrides the default. Any thread.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/schema.h"
#include "config/schema/config.h"
#include "config/schema/problem.h"
#include "config/schema/yaml.h"

namespace tessera::config {

// The agent's file if none is named.
inline constexpr const char* kDefaultFile = "/etc/tessera/tessera.yaml";

// The sources of a configuration. Without a file there are no resources. This is legal: the agent
// serves none and logs that.
struct Sources {
  std::optional<Document> file{};
  std::map<std::string, std::string> environment{};  // NAME -> value; other variables are ignored
  std::map<std::string, std::string> flags{};        // without the dashes: "kubelet-root" -> value
};

// A setting's final value, and its source.
struct Setting {
  std::string path{};   // "resources[0].dummy.count"
  std::string value{};  // "64"
  // "default", "tessera.yaml:12", "environment NAME", "flag --NAME", or the evidence for CDI.
  std::string source{};
  bool operator==(const Setting&) const = default;
};

struct LoadResult {
  const Schema* schema = nullptr;   // the schema of the reading, which outlives it
  Config config{};                  // valid only when ok()
  std::vector<Problem> errors{};    // all of them, in order of the file
  std::vector<Problem> warnings{};  // legal, but probably a mistake
  // The source of every path that is set, sections and lists included; as Setting::source.
  std::map<std::string, std::string> sources{};
  // Resources that could use CDI and have no configured strategies.
  std::vector<size_t> undecided{};

  // The other format that the file was read in: "HAMi's"; empty: our format, or no file.
  std::string taken_for{};

  bool ok() const { return errors.empty(); }
  // "default": the path is not set.
  std::string SourceOf(const std::string& path) const;
  // Every key with its value, in the reference's order; only when ok(). Computed by each call.
  std::vector<Setting> Settings() const;
};

// Loads with the keys of `schema`.
LoadResult Load(const Schema& schema, const Sources& sources);

// Gives the undecided resources the strategy CDI, as the node's container runtime reads CDI
// documents; `shown_by` is the evidence. If their documents would conflict, all stays, and a
// warning says why.
LoadResult PreferCdi(LoadResult loaded, const std::string& shown_by);

// A configuration in another format, with its errors.
struct Foreign {
  Config config;
  // The source of each key that it sets: "resources[0].replicas" -> "their.yaml:5".
  std::map<std::string, std::string> sources{};
  std::vector<Problem> errors{};
  std::vector<Problem> warnings{};
  bool undecided = false;  // LoadResult::undecided, for all resources
};

// Completes and checks it. Our environment variables and flags override it.
LoadResult LoadForeign(const Schema& schema, Foreign foreign,
                       const std::map<std::string, std::string>& environment,
                       const std::map<std::string, std::string>& flags);

// Reads the file, for a start and for every reload. Without a `path`, reads kDefaultFile if it
// exists.
LoadResult LoadFile(const Schema& schema, const std::optional<std::string>& path,
                    const std::map<std::string, std::string>& environment,
                    const std::map<std::string, std::string>& flags);

// The variables of this process with the prefix TESSERA_.
std::map<std::string, std::string> OwnEnvironment();
// The variables with names in `wanted`.
std::map<std::string, std::string> EnvironmentOf(
    const std::function<bool(std::string_view name)>& wanted);

}  // namespace tessera::config
