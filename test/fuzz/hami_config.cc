// SPDX-License-Identifier: Apache-2.0
// HAMi's configuration: a file's text, then after a zero byte the node's JSON, then command line
// words, each after a zero byte. Any input is a configuration or gives a list of problems. A
// configuration that loads must print as a file of Tessera that loads as the same.

#include <vector>

#include "base/quote.h"
#include "base/text.h"
#include "compat/hami/device_config.h"
#include "compat/hami/load.h"
#include "compat/hami/options.h"
#include "config/print.h"
#include "kinds/kinds.h"
#include "test/fuzz/fuzz.h"

using tessera::config::Document;
using tessera::fuzz::Require;
namespace hami = tessera::config::hami;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::vector<std::string> parts =
      tessera::Split(std::string(tessera::fuzz::Text(data, size)), '\0');
  tessera::config::nvidia::Sources sources;
  sources.file = Document::Parse("any.yaml", parts[0]);
  if (!hami::IsDeviceConfig(*sources.file)) return 0;
  hami::NodeConfig node;
  if (parts.size() > 1) {
    auto read = hami::ReadNodeConfig("any.json", parts[1], "a");
    Require(read.has_value() || !read.error().message.empty(), "an error says what it is");
    if (read) node = *std::move(read);
  }
  if (parts.size() > 2) {
    parts.erase(parts.begin(), parts.begin() + 2);
    // A command line may have any bytes, but a file of Tessera must be UTF-8.
    for (std::string& word : parts) word = tessera::ValidUtf8(word);
    sources.line = tessera::config::nvidia::ParseCommandLine(parts, hami::FurtherFlags());
  }
  const auto loaded = hami::Load(tessera::FullSchema(), sources, node);
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
