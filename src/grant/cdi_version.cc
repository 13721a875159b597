// SPDX-License-Identifier: Apache-2.0
#include "grant/cdi_version.h"

#include <algorithm>
#include <array>

namespace tessera::cdi {
namespace {

// Versions from the oldest that a runtime in use reads.
constexpr std::array<std::string_view, 8> kVersions = {"0.3.0", "0.4.0", "0.5.0", "0.6.0",
                                                       "0.7.0", "0.8.0", "1.0.0", "1.1.0"};

}  // namespace

int RankOf(std::string_view version) {
  const auto at = std::ranges::find(kVersions, version);
  return at == kVersions.end() ? -1 : static_cast<int>(at - kVersions.begin());
}

void Needs::AtLeast(std::string_view version) {
  rank_ = std::max(rank_, RankOf(version));
}

void Needs::ForKind(std::string_view kind) {
  const size_t slash = kind.find('/');
  if (slash == std::string_view::npos) return;
  if (kind.find('.', slash) != std::string_view::npos) AtLeast("0.6.0");
}

void Needs::ForDeviceName(std::string_view name) {
  if (!name.empty() && name.front() >= '0' && name.front() <= '9') AtLeast("0.5.0");
}

std::string_view Needs::version() const {
  return kVersions[static_cast<size_t>(rank_)];
}

}  // namespace tessera::cdi
