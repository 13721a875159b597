// SPDX-License-Identifier: Apache-2.0
// The library's lines on standard error, only if LIBCUDA_LOG_LEVEL asks for them: the program's
// output is its own. Any thread. A line is one write, outside the program's buffers. No memory is
// allocated, errno is kept, and a closed pipe does not end the program.
#pragma once

namespace tessera::limiter {

// The LIBCUDA_LOG_LEVEL from which a line is written.
enum class Level : int {
  kError = 1,    // memory is denied
  kWarning = 2,  // misunderstood or odd settings; the limits in effect
  kDenial = 3,   // each call that was refused or got managed memory
  kDebug = 4,
};

// One line, "tessera-vgpu[PID]: ...", of plain characters. `asked`: LIBCUDA_LOG_LEVEL.
[[gnu::format(printf, 3, 4)]] void LogLine(int asked, Level level, const char* format, ...);

inline bool IsSaid(int asked, Level level) {
  return asked >= static_cast<int>(level);
}

}  // namespace tessera::limiter
