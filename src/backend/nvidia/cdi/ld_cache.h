// SPDX-License-Identifier: Apache-2.0
// The list of libraries that ldconfig keeps for the loader, /etc/ld.so.cache. Its text comes from
// the driver's root, which may be anybody's image: nothing in it is trusted. Pure; any thread.
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

// The 64-bit libraries in it, in its order, each once; none where the text is no cache of glibc's
// format 1.1, alone or behind the older one. What points outside the text is left out.
std::vector<CachedLibrary> ReadLdCache(std::string_view text);

}  // namespace tessera::nvidia
