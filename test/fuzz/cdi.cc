// SPDX-License-Identifier: Apache-2.0
// CDI documents of any origin, in JSON and YAML. A document that is read, written and read again
// must be the same.

#include "cdi/cdi_reading.h"
#include "test/fuzz/fuzz.h"

using tessera::fuzz::Require;

namespace cdi = tessera::cdi;

namespace {

void Feed(const char* name, const std::string& text) {
  const auto document = tessera::ReadCdiText(name, text);
  if (!document) return Require(!document.error().message.empty(), "a refusal says why");
  // Tidy removes a device without edits of its own. A document without devices is not written.
  const cdi::Document tidy = cdi::Tidy(*document);
  if (tidy.devices.empty()) return;
  const auto again = cdi::Read(cdi::Text(tidy));
  Require(again.has_value(), "what was written is read");
  Require(cdi::Text(*again) == cdi::Text(tidy), "and means the same");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(tessera::fuzz::Text(data, size));
  Feed("it.json", text);
  Feed("it.yaml", text);
  return 0;
}
