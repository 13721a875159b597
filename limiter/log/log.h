// SPDX-License-Identifier: Apache-2.0
// What the library says on standard error, and only to who asks by LIBCUDA_LOG_LEVEL: the program's
// output is its own. Any thread; a line is one write, past all buffers of the program's; nothing is
// allocated, errno stays, and nobody at the other end is no reason to die.
#pragma once

namespace tessera::limiter {

// From which LIBCUDA_LOG_LEVEL on it is said.
enum class Level : int {
  kError = 1,    // memory is denied, and why
  kWarning = 2,  // what was not understood, or is not as it should be; and what limits there are
  kDenial = 3,   // each call that was refused, or got managed memory
  kDebug = 4,
};

// One line, "tessera-vgpu[PID]: ...", of plain characters. `asked`: LIBCUDA_LOG_LEVEL.
[[gnu::format(printf, 3, 4)]] void LogLine(int asked, Level level, const char* format, ...);

inline bool IsSaid(int asked, Level level) {
  return asked >= static_cast<int>(level);
}

}  // namespace tessera::limiter
