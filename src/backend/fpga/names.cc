// SPDX-License-Identifier: Apache-2.0
#include "backend/fpga/names.h"

#include <fmt/core.h>

#include <algorithm>

#include "backend/sysfs.h"
#include "base/base64.h"
#include "base/characters.h"
#include "base/text.h"

namespace tessera::fpga {
namespace {

constexpr size_t kIdDigits = 32;
constexpr size_t kLongestName = 63;  // of a resource, behind its slash

bool IsHexDigit(char c) {
  return IsDigit(c) || (ToLower(c) >= 'a' && ToLower(c) <= 'f');
}

bool AreHexDigits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, IsHexDigit);
}

// "0000:5e:00.0". Some domains have more than four digits.
bool IsPciAddress(std::string_view text) {
  constexpr size_t kBehindDomain = 8;  // ":5e:00.0"
  if (text.size() < kBehindDomain + 4) return false;
  const std::string_view domain = text.substr(0, text.size() - kBehindDomain);
  const std::string_view rest = text.substr(domain.size());
  return AreHexDigits(domain) && rest[0] == ':' && AreHexDigits(rest.substr(1, 2)) &&
         rest[3] == ':' && AreHexDigits(rest.substr(4, 2)) && rest[6] == '.' && IsDigit(rest[7]);
}

// Of an id.
std::string BytesOf(std::string_view digits) {
  std::string bytes;
  for (size_t at = 0; at + 1 < digits.size(); at += 2) {
    bytes += static_cast<char>(sysfs::Number<unsigned>(digits.substr(at, 2), 16).value_or(0));
  }
  return bytes;
}

// As names of resources have it: for URLs, without padding.
std::string UrlBase64(std::string_view bytes) {
  std::string text = EncodeBase64(bytes);
  text.resize(text.find_last_not_of('=') + 1);
  std::ranges::replace(text, '+', '-');
  std::ranges::replace(text, '/', '_');
  return text;
}

}  // namespace

std::optional<unsigned> NumberBehind(std::string_view prefix, std::string_view name) {
  if (!name.starts_with(prefix)) return std::nullopt;
  return sysfs::Number<unsigned>(name.substr(prefix.size()));
}

std::string PciAddressIn(std::string_view path) {
  const std::vector<std::string> parts = Split(path, '/');
  const auto found = std::find_if(parts.rbegin(), parts.rend(), IsPciAddress);
  return found == parts.rend() ? "" : *found;
}

std::optional<unsigned> InstanceOf(std::string_view address) {
  if (!IsPciAddress(address)) return std::nullopt;
  const size_t bus_at = address.find(':') + 1;
  const auto domain = sysfs::Number<unsigned>(address.substr(0, bus_at - 1), 16);
  const auto bus = sysfs::Number<unsigned>(address.substr(bus_at, 2), 16);
  const auto device = sysfs::Number<unsigned>(address.substr(bus_at + 3, 2), 16);
  const auto function = sysfs::Number<unsigned>(address.substr(bus_at + 6));
  if (!domain || !bus || !device || !function) return std::nullopt;
  return *domain << 16U | *bus << 8U | *device << 3U | *function;
}

std::optional<std::string> ParseId(std::string_view text) {
  std::string id(Trim(text));
  if (id.size() != kIdDigits || !AreHexDigits(id)) return std::nullopt;
  std::ranges::transform(id, id.begin(), ToLower);
  return id;
}

bool IsOnes(std::string_view id) {
  return id.find_first_not_of('f') == std::string_view::npos;
}

std::string AfProfile(std::string_view interface_id, std::string_view afu_id) {
  return fmt::format("af-{}.{}.{}", interface_id.substr(0, 3), afu_id.substr(0, 3),
                     UrlBase64(BytesOf(interface_id) + BytesOf(afu_id)));
}

std::string RegionProfile(std::string_view interface_id) {
  return fmt::format("region-{}", interface_id);
}

std::optional<std::string> ShellProfile(std::string_view shell, std::string_view time) {
  const auto is_in_name = [](char c) {
    return IsAlphanumeric(c) || c == '-' || c == '_' || c == '.';
  };
  if (shell.empty() || time.empty()) return std::nullopt;
  std::string profile = fmt::format("{}-{}", shell, time);
  const bool good = profile.size() <= kLongestName && std::ranges::all_of(profile, is_in_name) &&
                    IsAlphanumeric(profile.front()) && std::ranges::all_of(time, IsAlphanumeric);
  return good ? std::optional(std::move(profile)) : std::nullopt;
}

std::optional<uint64_t> ParseRegister(std::string_view text) {
  text = Trim(text);
  const bool is_hex = text.starts_with("0x");
  return sysfs::Number<uint64_t>(is_hex ? text.substr(2) : text, is_hex ? 16 : 10);
}

}  // namespace tessera::fpga
