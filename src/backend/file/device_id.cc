// SPDX-License-Identifier: Apache-2.0
#include "backend/file/device_id.h"

#include <fmt/core.h>

#include "base/characters.h"
#include "base/hash.h"

namespace tessera::file {
namespace {

constexpr size_t kHashDigits = 12;

std::string HashOf(std::string_view text) {
  return fmt::format("{:016x}", Fnv1a(text)).substr(0, kHashDigits);
}

}  // namespace

std::string DeviceId(std::string_view path) {
  static constexpr std::string_view kDev = "/dev/";
  const bool below_dev = path.starts_with(kDev);
  std::string_view name = path;
  name.remove_prefix(below_dev ? kDev.size() : path.starts_with('/') ? 1 : 0);
  std::string id;
  bool changed = !below_dev;
  for (const char c : name) {
    const bool kept = IsAlphanumeric(c) || c == '.' || c == '_' || c == '-';
    id += kept ? c : c == '/' ? ':' : '-';
    changed |= !kept && c != '/';
  }
  if (id.empty() || !IsAlphanumeric(id.front())) {
    id.insert(0, "x");
    changed = true;
  }
  changed |= !IsAlphanumeric(id.back());
  if (!changed && id.size() <= kMaxIdLength) return id;
  return id.substr(0, kMaxIdLength - kHashDigits - 1) + "-" + HashOf(path);
}

}  // namespace tessera::file
