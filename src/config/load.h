// SPDX-License-Identifier: Apache-2.0
// From what a person wrote to a checked Config. A flag overrides an environment variable, which
// overrides the file, which overrides the default. Any thread.
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

// Where the agent looks when nobody names a file.
inline constexpr const char* kDefaultFile = "/etc/tessera/tessera.yaml";

// What a configuration is made from. Without a file there are no resources, which is legal: the
// agent serves nothing and says so.
struct Sources {
  std::optional<Document> file{};
  std::map<std::string, std::string>
      environment{};                           // NAME -> value; names other than ours are ignored
  std::map<std::string, std::string> flags{};  // without the dashes: "kubelet-root" -> value
};

// A setting as it came out, and where from.
struct Setting {
  std::string path{};   // "resources[0].dummy.count"
  std::string value{};  // "64"
  // "default", "tessera.yaml:12", "environment NAME", "flag --NAME" or what showed CDI.
  std::string source{};
  bool operator==(const Setting&) const = default;
};

struct LoadResult {
  const Schema* schema = nullptr;   // that it was read by, which outlives it
  Config config{};                  // to be used only when ok()
  std::vector<Problem> errors{};    // all of them, in the order of the file
  std::vector<Problem> warnings{};  // what is legal, but surely not meant
  // What somebody set, sections and lists too, and where: as Setting::source.
  std::map<std::string, std::string> sources{};
  // Resources that could reach containers by CDI and whose way into them nobody chose.
  std::vector<size_t> undecided{};

  // Whose format the file was taken for: "HAMi's"; empty: ours, or there is none.
  std::string taken_for{};

  bool ok() const { return errors.empty(); }
  // "default" for a path that nobody set.
  std::string SourceOf(const std::string& path) const;
  // Every key with a value, in the reference's order; when ok(). Made anew by each call.
  std::vector<Setting> Settings() const;
};

// By these keys.
LoadResult Load(const Schema& schema, const Sources& sources);

// The same where the node's container runtime reads CDI documents, which `shown_by` shows: the
// undecided resources go by CDI. Where they cannot (their documents would be each other's), a
// warning says why and everything stays.
LoadResult PreferCdi(LoadResult loaded, const std::string& shown_by);

// A configuration that was written in another format, with what is wrong there.
struct Foreign {
  Config config;
  // Where the keys that it sets were written: "resources[0].replicas" -> "their.yaml:5".
  std::map<std::string, std::string> sources{};
  std::vector<Problem> errors{};
  std::vector<Problem> warnings{};
  bool undecided = false;  // LoadResult::undecided, all of them
};

// The same from that; environment and flags are ours and override it.
LoadResult LoadForeign(const Schema& schema, Foreign foreign,
                       const std::map<std::string, std::string>& environment,
                       const std::map<std::string, std::string>& flags);

// Reads the file anew, for a start and for every reload. With no `path` kDefaultFile is read if it
// is there.
LoadResult LoadFile(const Schema& schema, const std::optional<std::string>& path,
                    const std::map<std::string, std::string>& environment,
                    const std::map<std::string, std::string>& flags);

// The variables of this process that could be ours: those that begin with TESSERA_.
std::map<std::string, std::string> OwnEnvironment();
// Those whose names are `wanted`.
std::map<std::string, std::string> EnvironmentOf(
    const std::function<bool(std::string_view name)>& wanted);

}  // namespace tessera::config
