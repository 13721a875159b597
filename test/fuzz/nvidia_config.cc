// SPDX-License-Identifier: Apache-2.0
// The configuration of NVIDIA's device plugin: any text, and any words behind its first zero byte,
// are a configuration or a list of problems; what is good can be printed as a file of ours.

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
    // A file of ours is text, whatever a command line may be.
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
