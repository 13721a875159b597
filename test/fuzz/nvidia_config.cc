// SPDX-License-Identifier: Apache-2.0
// The configuration of NVIDIA's device plugin: a file's text, then command line words, each after a
// zero byte. Any input is a configuration or gives a list of problems. A configuration that loads
// must print as a file of Tessera that loads as the same.

#include "base/quote.h"
#include "base/text.h"
#include "compat/nvidia/load.h"
#include "config/print.h"
#include "kinds/kinds.h"
#include "test/fuzz/fuzz.h"

using tessera::config::Document;
using tessera::fuzz::Require;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(tessera::fuzz::Text(data, size));
  const size_t end = text.find('\0');
  tessera::config::nvidia::Sources sources;
  sources.file = Document::Parse("any.yaml", text.substr(0, end));
  if (end != std::string::npos) {
    // A command line may have any bytes, but a file of Tessera must be UTF-8.
    const std::string words = tessera::ValidUtf8(text.substr(end + 1));
    sources.line = tessera::config::nvidia::ParseCommandLine(tessera::Split(words, '\0'));
  }
  const auto loaded = tessera::config::nvidia::Load(tessera::FullSchema(), sources);
  for (const auto& problem : loaded.errors) {
    Require(!problem.message.empty(), "a problem says what it is");
    Require(!problem.Text().empty(), "and can be shown");
  }
  if (!loaded.ok()) return 0;
  const auto again = tessera::config::Load(
      tessera::FullSchema(),
      {.file = Document::Parse("ours.yaml", tessera::config::PrintYaml(loaded))});
  Require(again.ok(), "what is printed is good");
  Require(again.config == loaded.config, "and the same");
  return 0;
}
