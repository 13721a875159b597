// SPDX-License-Identifier: Apache-2.0
#include "backend/nvidia/cdi/ld_cache.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <set>
#include <utility>

namespace tessera::nvidia {
namespace {

constexpr std::string_view kMagic = "glibc-ld.so.cache1.1";
constexpr size_t kHeader = 48;  // the magic, the number of entries, and unused fields
constexpr size_t kEntry = 24;   // flags, soname, path, version of the system, capabilities
constexpr size_t kCount = 20;   // the offset of the number of entries

constexpr std::string_view kOldMagic = "ld.so-1.7.0";
constexpr size_t kOldHeader = 16;
constexpr size_t kOldEntry = 12;
constexpr size_t kOldCount = 12;

constexpr uint32_t kTypeMask = 0x00ff;  // of the flags of an entry
constexpr uint32_t kElfOfGlibc = 3;
constexpr uint32_t kMachineMask = 0xff00;
constexpr uint32_t kX86 = 0x0300;
constexpr uint32_t kArm = 0x0a00;

std::optional<uint32_t> NumberAt(std::string_view text, size_t at) {
  uint32_t number = 0;
  if (text.size() < sizeof number || at > text.size() - sizeof number) return std::nullopt;
  std::memcpy(&number, text.data() + at, sizeof number);
  return number;
}

// The text up to its zero; empty: it has none.
std::string_view TextAt(std::string_view text, size_t at) {
  if (at >= text.size()) return {};
  const size_t end = text.find('\0', at);
  return end == std::string_view::npos ? std::string_view() : text.substr(at, end - at);
}

// The newer cache follows the older one.
std::string_view WithoutOld(std::string_view text) {
  if (!text.starts_with(kOldMagic)) return text;
  const size_t entries = NumberAt(text, kOldCount).value_or(0);
  const size_t end = kOldHeader + entries * kOldEntry;
  const size_t aligned = (end + 7) / 8 * 8;
  return aligned > text.size() ? std::string_view() : text.substr(aligned);
}

bool IsWanted(uint32_t flags) {
  if ((flags & kTypeMask) != kElfOfGlibc) return false;
  const uint32_t machine = flags & kMachineMask;
  return machine == kX86 || machine == kArm;
}

}  // namespace

std::vector<CachedLibrary> ReadLdCache(std::string_view text) {
  text = WithoutOld(text);
  if (!text.starts_with(kMagic) || text.size() < kHeader) return {};
  const size_t most = (text.size() - kHeader) / kEntry;
  const size_t count = std::min<size_t>(NumberAt(text, kCount).value_or(0), most);
  std::vector<CachedLibrary> libraries;
  std::set<std::pair<std::string_view, std::string_view>> known;
  for (size_t i = 0; i < count; ++i) {
    const size_t entry = kHeader + i * kEntry;
    if (!IsWanted(NumberAt(text, entry).value_or(0))) continue;
    const std::string_view soname = TextAt(text, NumberAt(text, entry + 4).value_or(0));
    const std::string_view path = TextAt(text, NumberAt(text, entry + 8).value_or(0));
    if (soname.empty() || !path.starts_with('/') || !known.emplace(soname, path).second) continue;
    libraries.push_back({std::string(soname), std::string(path)});
  }
  return libraries;
}

}  // namespace tessera::nvidia
