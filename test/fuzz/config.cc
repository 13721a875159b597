// SPDX-License-Identifier: Apache-2.0
// The configuration. Any text is a configuration, or gives a list of problems with messages.

#include "config/load.h"
#include "kinds/kinds.h"
#include "test/fuzz/fuzz.h"

using tessera::fuzz::Require;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tessera::config::Sources sources;
  sources.file =
      tessera::config::Document::Parse("any.yaml", std::string(tessera::fuzz::Text(data, size)));
  const auto loaded = tessera::config::Load(tessera::FullSchema(), sources);
  for (const auto& problem : loaded.errors) {
    Require(!problem.message.empty(), "a problem says what it is");
    Require(!problem.Text().empty(), "and can be shown");
  }
  Require(!loaded.ok() || !loaded.Settings().empty(), "what is good has settings");
  return 0;
}
