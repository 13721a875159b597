// SPDX-License-Identifier: Apache-2.0
// Go's text formats of times. Pure; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace tessera::hami {

// RFC 3339, "2026-08-21T09:30:00Z", in whole seconds; a fraction is cut off. Nothing for other
// text, or if the year does not have four digits.
std::optional<Wall> ParseRfc3339(std::string_view text);
std::string FormatRfc3339(Wall time);

// "2026-08-21 09:30:00", without a zone; read as UTC.
std::optional<Wall> ParseDateTime(std::string_view text);
std::string FormatDateTime(Wall time);

// The text of Go's time.Now().String() in UTC: "2026-08-21 09:30:00.25 +0000 UTC m=+12.250000000".
// `running`: how long the program has run.
std::string FormatNow(Wall time, Duration running);

}  // namespace tessera::hami
