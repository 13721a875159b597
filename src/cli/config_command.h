// SPDX-License-Identifier: Apache-2.0
// `tessera config print`, `check`, `convert` and `schema`. Each returns the exit code: 0, or 1 if
// the configuration has an error. One thread.
#pragma once

#include <cstdio>
#include <map>
#include <optional>
#include <string>

#include "config/load.h"

namespace tessera::cli {

// The sources of a configuration, as for the agent.
struct ConfigSources {
  std::optional<std::string> file{};  // null: the default file, if it exists
  std::map<std::string, std::string> environment{};
  std::map<std::string, std::string> flags{};  // without dashes: "kubelet-root" -> value
};

enum class ConfigForm { kYaml, kJson };

// Prints the agent's configuration to `out`, with the source of every value. Problems go to `err`.
int ConfigPrint(const ConfigSources& sources, ConfigForm form, FILE* out, FILE* err);

// Prints a configuration that was loaded already.
int ConfigPrint(const config::LoadResult& loaded, ConfigForm form, FILE* out, FILE* err);

// Prints a line to `out` if the file is good; all errors and warnings go to `err`. A file with the
// shape of NVIDIA's or HAMi's device plugin is checked as that, and a line says so. Only the file
// counts: this shell's environment must not decide the result.
int ConfigCheck(const std::string& file, FILE* out, FILE* err);

// Prints a file of NVIDIA's or HAMi's device plugin, with these of its variables, as one of ours.
// Problems and settings without effect go to `err`. This shell's environment is ignored, as in
// ConfigCheck. `node_file`: HAMi's for single nodes; empty: none.
enum class Extent : bool {
  kChanged,
  kAll
};  // only values that differ from the defaults, or every key
int ConfigConvert(const std::string& file, const std::string& node_file,
                  const std::map<std::string, std::string>& variables, Extent extent, FILE* out,
                  FILE* err);

// The JSON Schema of the file.
int ConfigSchema(FILE* out);

}  // namespace tessera::cli
