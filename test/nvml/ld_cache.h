// SPDX-License-Identifier: Apache-2.0
// Makes the loader's cache (/etc/ld.so.cache) as glibc's ldconfig does, for the driver roots of
// tests. Any thread. Header-only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace tessera {

struct CacheEntry {
  std::string soname;
  std::string path;
  uint32_t flags = 0x0303;  // an x86-64 library for glibc
};

// Returns the cache's bytes, in glibc's format 1.1. `behind_old`: after an empty cache of the older
// format, as older versions of ldconfig write both.
inline std::string MakeLdCache(const std::vector<CacheEntry>& entries, bool behind_old = false) {
  std::string head = "glibc-ld.so.cache1.1";
  std::string strings;
  const auto number = [](uint64_t value, size_t size) {
    std::string bytes(size, '\0');
    std::memcpy(bytes.data(), &value, std::min(size, sizeof value));
    return bytes;
  };
  const size_t begin = 48 + entries.size() * 24;
  std::string body;
  const auto place = [&](const std::string& text) {
    const size_t at = begin + strings.size();
    strings += text + '\0';
    return number(at, 4);
  };
  for (const CacheEntry& entry : entries) {
    body += number(entry.flags, 4);
    body += place(entry.soname);
    body += place(entry.path);
    body += number(0, 12);
  }
  head += number(entries.size(), 4) + number(strings.size(), 4) + std::string(20, '\0');
  const std::string old = behind_old ? "ld.so-1.7.0" + std::string(5, '\0') : "";
  return old + head + body + strings;
}

}  // namespace tessera
