// SPDX-License-Identifier: Apache-2.0
// CDI documents from anywhere: what is read is written so that it is read again as the same.

#include "grant/cdi_document.h"
#include "test/fuzz/fuzz.h"

using tessera::fuzz::Require;

namespace cdi = tessera::cdi;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto document = cdi::Read(tessera::fuzz::Text(data, size));
  if (!document) {
    Require(!document.error().message.empty(), "a refusal says why");
    return 0;
  }
  // What of a device is not kept may be all that it has.
  const cdi::Document tidy = cdi::Tidy(*document);
  if (tidy.devices.empty()) return 0;
  const auto again = cdi::Read(cdi::Text(tidy));
  Require(again.has_value(), "what was written is read");
  Require(cdi::Text(*again) == cdi::Text(tidy), "and means the same");
  return 0;
}
