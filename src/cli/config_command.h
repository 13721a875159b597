// SPDX-License-Identifier: Apache-2.0
// `tessera config print`, `check`, `convert` and `schema`. What these return is the exit code: 0,
// or 1 when the configuration has an error. One thread.
#pragma once

#include <cstdio>
#include <map>
#include <optional>
#include <string>

#include "config/load.h"

namespace tessera::cli {

// Where a configuration is taken from, as for the agent.
struct ConfigSources {
  std::optional<std::string> file{};  // nothing: the default file, if it is there
  std::map<std::string, std::string> environment{};
  std::map<std::string, std::string> flags{};  // without dashes: "kubelet-root" -> value
};

enum class ConfigForm { kYaml, kJson };

// The configuration that the agent would use, with the origin of every value, to `out`; problems go
// to `err`.
int ConfigPrint(const ConfigSources& sources, ConfigForm form, FILE* out, FILE* err);

// The same of one that was read already.
int ConfigPrint(const config::LoadResult& loaded, ConfigForm form, FILE* out, FILE* err);

// A line to `out` when the file is a good configuration; all errors and warnings go to `err`. A
// file of NVIDIA's or HAMi's device plugin, by its shape, is checked as that, and a line before
// says so. The file alone: what this shell's environment says must not decide whether it is good.
int ConfigCheck(const std::string& file, FILE* out, FILE* err);

// A file of NVIDIA's or HAMi's device plugin, with these of its variables, as one of ours, to
// `out`; problems and what has no effect go to `err`. This shell's environment is of no account, as
// for ConfigCheck. `node_file` is HAMi's for single nodes; empty: none.
enum class Extent : bool { kChanged, kAll };  // what differs from the defaults, or every key
int ConfigConvert(const std::string& file, const std::string& node_file,
                  const std::map<std::string, std::string>& variables, Extent extent, FILE* out,
                  FILE* err);

// The JSON Schema of the file.
int ConfigSchema(FILE* out);

}  // namespace tessera::cli
