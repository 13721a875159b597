// SPDX-License-Identifier: Apache-2.0
// The loader's cache of a driver's root.

#include "backend/nvidia/cdi/ld_cache.h"

#include "test/fuzz/fuzz.h"

using tessera::fuzz::Require;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  for (const auto& library : tessera::nvidia::ReadLdCache(tessera::fuzz::Text(data, size))) {
    Require(!library.soname.empty(), "a library has a name");
    Require(library.path.starts_with('/'), "and a path");
  }
  return 0;
}
