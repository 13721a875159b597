// SPDX-License-Identifier: Apache-2.0
#include "config/schema/family.h"

#include <algorithm>

namespace tessera::config {

bool IsFamily(std::string_view name) {
  return name.find(kProfile) != std::string_view::npos;
}

std::string ProfileInName(std::string_view profile) {
  std::string text(profile);
  std::replace(text.begin(), text.end(), '+', '.');
  return text;
}

std::string MemberName(std::string_view family, std::string_view profile) {
  std::string name(family);
  return name.replace(family.find(kProfile), kProfile.size(), ProfileInName(profile));
}

std::optional<std::string> ProfileIn(std::string_view family, std::string_view name) {
  const size_t at = family.find(kProfile);
  const std::string_view before = family.substr(0, at);
  const std::string_view behind = family.substr(at + kProfile.size());
  if (name.size() <= before.size() + behind.size()) return std::nullopt;
  if (!name.starts_with(before) || !name.ends_with(behind)) return std::nullopt;
  return std::string(name.substr(at, name.size() - before.size() - behind.size()));
}

Resource Member(const Resource& family, const std::string& name) {
  Resource member = family;
  member.name = name;
  return member;
}

}  // namespace tessera::config
