// SPDX-License-Identifier: Apache-2.0
// Frames as the escape sequences of a terminal (ECMA-48, 256 colours). Pure; any thread.
#pragma once

#include <string>
#include <string_view>

#include "sim/demo/frame.h"

namespace tessera::demo {

// The alternate screen without cursor and line wrap, and back. Leaving is one constant string, so
// that a signal handler can write it.
inline constexpr std::string_view kEnterScreen = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J";
inline constexpr std::string_view kLeaveScreen = "\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l";

// The line with its inks, which are reset at its end. Without colour only bold is left.
std::string Encode(const TextLine& line, bool colour);

// What turns a screen that shows `before` into one that shows `after`: only lines that differ are
// written. An empty `before` means an unknown screen: everything is.
std::string Difference(const Frame& before, const Frame& after, bool colour);

}  // namespace tessera::demo
