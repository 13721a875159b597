// SPDX-License-Identifier: Apache-2.0
// A family: a configured resource with "{profile}" in its name. It stands for one resource for each
// device profile on the node: "nvidia.com/mig-{profile}" for "nvidia.com/mig-1g.10gb" and others.
// Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "config/schema/config.h"

namespace tessera::config {

inline constexpr std::string_view kProfile = "{profile}";

bool IsFamily(std::string_view name);

// The profile's form in a resource's name, which cannot have "+": "1g.10gb.me".
std::string ProfileInName(std::string_view profile);
// The name of the family's resource with that profile.
std::string MemberName(std::string_view family, std::string_view profile);
// The profile in this name; null: the family has no such name.
std::optional<std::string> ProfileIn(std::string_view family, std::string_view name);

// The family's resource with that name.
Resource Member(const Resource& family, const std::string& name);

}  // namespace tessera::config
