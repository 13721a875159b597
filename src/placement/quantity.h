// SPDX-License-Identifier: Apache-2.0
// Kubernetes' quantities: "3", "3k", "1Gi", "1e3". Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace tessera {

// The whole number that the quantity is, however it is written ("1500m" is none, "2000m" is 2);
// nothing for a fraction, for what is no quantity and for what an int64 does not hold.
std::optional<int64_t> WholeQuantity(std::string_view text);

}  // namespace tessera
