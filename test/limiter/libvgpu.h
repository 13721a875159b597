// SPDX-License-Identifier: Apache-2.0
// For tests: the libvgpu.so that programs are preloaded with. The environment's TESSERA_LIBVGPU may
// name another one than the built one, e.g. the one that ships. It must be an absolute path that
// ends in libvgpu.so: programs look for this name in their own maps. Any thread.
#pragma once

#include <cstdlib>
#include <string>

namespace tessera::limiter {

inline std::string Libvgpu() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): no test sets variables beside other threads
  const char* const other = std::getenv("TESSERA_LIBVGPU");
  return other != nullptr ? other : LIBVGPU;
}

}  // namespace tessera::limiter
