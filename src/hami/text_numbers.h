// SPDX-License-Identifier: Apache-2.0
// Numbers and flags in text as Go's strconv reads them. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace tessera::hami {

// Decimal, with or without a sign. Nothing if out of range.
std::optional<int32_t> ParseInt32(std::string_view text);
// 1, t, T, TRUE, true, True; 0, f, F, FALSE, false, False.
std::optional<bool> ParseBool(std::string_view text);

}  // namespace tessera::hami
