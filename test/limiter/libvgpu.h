// SPDX-License-Identifier: Apache-2.0
// For tests: the libvgpu.so that programs are preloaded with, which is the built one unless the
// environment's TESSERA_LIBVGPU names another one, as the one that ships. It is to have that name,
// by which programs find it in themselves, and an absolute path. Any thread.
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
