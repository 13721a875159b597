// SPDX-License-Identifier: Apache-2.0
#include "cli/config_command.h"

#include <fmt/core.h>

#include "base/text.h"
#include "cdi/container_runtime.h"
#include "compat/hami/load.h"
#include "config/load.h"
#include "config/print.h"
#include "config/reference.h"
#include "kinds/kinds.h"

namespace tessera::cli {
namespace {

// Prints the problems; false: the configuration cannot be used.
bool Tell(const config::LoadResult& result, FILE* err) {
  for (const config::Problem& warning : result.warnings) {
    fmt::print(err, "warning: {}\n", warning.Text());
  }
  fmt::print(err, "{}", config::Text(result.errors));
  return result.ok();
}

}  // namespace

int ConfigPrint(const ConfigSources& sources, ConfigForm form, FILE* out, FILE* err) {
  return ConfigPrint(
      config::LoadFile(FullSchema(), sources.file, sources.environment, sources.flags), form, out,
      err);
}

int ConfigPrint(const config::LoadResult& loaded, ConfigForm form, FILE* out, FILE* err) {
  const config::LoadResult result = SuitedToRuntime(loaded);
  if (!Tell(result, err)) return 1;
  fmt::print(out, "{}",
             form == ConfigForm::kYaml ? config::PrintYaml(result) : config::PrintJson(result));
  return 0;
}

int ConfigCheck(const std::string& file, FILE* out, FILE* err) {
  config::Document document = config::Document::Read(file);
  const auto format = config::hami::FormatOf(document);
  config::LoadResult result;
  if (format == config::hami::Format::kOwn) {
    result = config::Load(FullSchema(), {.file = std::move(document)});
  } else {
    config::hami::NodeConfigFile nodes("");
    result = config::hami::LoadEither(FullSchema(), {.file = std::move(document)}, nodes);
    fmt::print(out, "{}: read as a file of {} device plugin, as 'tessera agent nvidia' does\n",
               file, result.taken_for);
    std::fflush(out);
  }
  if (!Tell(result, err)) {
    fmt::print(err, "{}: {}\n", file, Count(result.errors.size(), "error"));
    return 1;
  }
  fmt::print(out, "{}: good, {}\n", file, Count(result.config.resources.size(), "resource"));
  return 0;
}

int ConfigConvert(const std::string& file, const std::string& node_file,
                  const std::map<std::string, std::string>& variables, Extent extent, FILE* out,
                  FILE* err) {
  config::hami::NodeConfigFile nodes(node_file);
  // Chooses CDI where an agent would ask the node's container runtime.
  const config::LoadResult result = config::PreferCdi(
      config::hami::LoadEither(
          FullSchema(), {.file = config::Document::Read(file), .environment = variables}, nodes),
      "where the container runtime has CDI");
  if (!Tell(result, err)) {
    fmt::print(err, "{}: {}\n", file, Count(result.errors.size(), "error"));
    return 1;
  }
  if (extent == Extent::kAll) {
    fmt::print(out, "{}", config::PrintYaml(result));
  } else {
    fmt::print(out,
               "# All other keys have their defaults; 'tessera config convert --all' prints them "
               "as well.\n{}",
               config::PrintChangedYaml(result));
  }
  return 0;
}

int ConfigSchema(FILE* out) {
  fmt::print(out, "{}", config::JsonSchema(FullSchema()));
  return 0;
}

}  // namespace tessera::cli
