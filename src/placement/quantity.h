// SPDX-License-Identifier: Apache-2.0
// Kubernetes' quantities: "3", "3k", "1Gi", "1e3". Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace tessera {

// The integer value: "2000m" is 2. Nothing for a fraction such as "1500m", an invalid text, or a
// value outside int64.
std::optional<int64_t> WholeQuantity(std::string_view text);

}  // namespace tessera
