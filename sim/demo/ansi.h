// SPDX-License-Identifier: Apache-2.0
// Encodes frames as a terminal's escape sequences (ECMA-48, 256 colours). Pure; any thread.
#pragma once

#include <string>
#include <string_view>

#include "sim/demo/frame.h"

namespace tessera::demo {

// Enter and leave the alternate screen, without cursor and line wrap. Each is one constant string,
// so that a signal handler can write it.
inline constexpr std::string_view kEnterScreen = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J";
inline constexpr std::string_view kLeaveScreen = "\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l";

// The line with its inks, reset at its end. Without colour only bold stays.
std::string Encode(const TextLine& line, bool colour);

// The text that turns a screen from `before` to `after`; only changed lines are written. An empty
// `before` means an unknown screen: all lines are written.
std::string Difference(const Frame& before, const Frame& after, bool colour);

}  // namespace tessera::demo
