// SPDX-License-Identifier: Apache-2.0
// Reads ldconfig's list of libraries for the loader, /etc/ld.so.cache. The driver's root may be any
// party's image, so nothing in the text is trusted. Pure; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tessera::nvidia {

struct CachedLibrary {
  std::string soname;  // "libcuda.so.1"
  std::string path;    // "/usr/lib64/libcuda.so.1"
  bool operator==(const CachedLibrary&) const = default;
};

// The 64-bit libraries in the text, each once, in its order. Empty if the text has no cache of
// glibc's format 1.1, alone or after an older one. Entries that point outside the text are left
// out.
std::vector<CachedLibrary> ReadLdCache(std::string_view text);

}  // namespace tessera::nvidia
