// SPDX-License-Identifier: Apache-2.0
// What a server answers and what a person gives as an address.

#include "http/wire.h"
#include "os/address.h"
#include "test/fuzz/fuzz.h"

using tessera::fuzz::Require;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text = tessera::fuzz::Text(data, size);
  const auto response = tessera::http::ParseResponse(text);
  if (response) {
    Require(response->status >= 100 && response->status <= 999, "a status has three digits");
    Require(response->body.size() <= size, "no byte comes from nowhere");
    tessera::http::FailureIn(*response);
  }
  const auto address = tessera::os::ParseAddress(text);
  Require(!address || address->length > 0, "an address has a length");
  for (const char letter : tessera::http::PercentEncode(text)) {
    Require(letter > ' ' && letter <= '~', "encoded text is plain");
  }
  return 0;
}
