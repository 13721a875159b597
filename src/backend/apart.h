// SPDX-License-Identifier: Apache-2.0
// Resources of one kind that must not have the same devices. Pure; any thread.
#pragma once

#include <fmt/core.h>

#include <string>
#include <string_view>

#include "config/schema/config.h"
#include "config/schema/findings.h"

namespace tessera {

// Whether resources of these profiles have no device in common. An empty profile is all devices.
inline bool ProfilesDiffer(std::string_view a, std::string_view b) {
  return !a.empty() && !b.empty() && a != b;
}

// Reports the first earlier resource that may have devices of this one. `T` is the struct of the
// kind's section; `apart` says of two sections that they have no device in common.
template <class T>
void CheckApart(const config::Config& config, size_t index, const std::string& path,
                config::Findings& findings, bool (*apart)(const T&, const T&)) {
  const T& own = *config.resources[index].kind.As<T>();
  for (size_t i = 0; i < index; ++i) {
    const T* other = config.resources[i].kind.As<T>();
    if (other == nullptr || apart(own, *other)) continue;
    findings.Report(Reason::kConfigDuplicate, path,
                    fmt::format("has devices that resources[{}] has as well: give both a 'profile' "
                                "of their own",
                                i));
    return;
  }
}

}  // namespace tessera
