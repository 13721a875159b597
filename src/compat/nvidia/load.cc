// SPDX-License-Identifier: Apache-2.0
#include "compat/nvidia/load.h"

#include <utility>

#include "compat/nvidia/reader.h"
#include "compat/nvidia/rules.h"
#include "compat/nvidia/translate.h"

namespace tessera::config::nvidia {

Settings ReadSettings(const Sources& sources, Findings& findings) {
  Settings settings;
  findings.TolerateDuplicates();
  if (sources.file) Reader(*sources.file, settings, findings).ReadAll(sources.shared_file);
  ApplyEnvironment(sources.environment, settings, findings);
  ApplyCommandLine(sources.line, settings, findings);
  SwitchOff(settings, findings);
  Validate(settings, findings);
  return settings;
}

LoadResult Load(const Schema& schema, const Sources& sources) {
  const Document none;
  Findings findings(sources.file ? *sources.file : none);
  const Settings settings = ReadSettings(sources, findings);
  Translated translated = Translate(settings, findings);
  return LoadForeign(schema,
                     {.config = std::move(translated.config),
                      .sources = std::move(translated.sources),
                      .errors = findings.SortedErrors(),
                      .warnings = findings.warnings()},
                     sources.own_environment, sources.own_flags);
}

}  // namespace tessera::config::nvidia
