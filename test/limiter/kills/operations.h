// SPDX-License-Identifier: Apache-2.0
// The operations in whose middle processes are killed. One thread.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "test/limiter/kills/stepped.h"

namespace tessera::limiter {

struct Operation {
  std::string_view name;
  void (*prepare)();
  void (*run)();
  Stepped::Way way = Stepped::Way::kCalls;
  uint64_t others = 0;  // bytes of a process that lives on, other than the survivor
};
std::span<const Operation> Operations();

// PrepareLaunches makes a context and loads a kernel; Launch runs it for `ns`.
void PrepareLaunches();
void Launch(uint64_t ns, unsigned grid = 8);

// Makes the region look as if only the survivor had ever joined.
void ForgetTheDead();

// The word with which the program is executed again, and what it then does.
inline constexpr char kExecuted[] = "executed";
void RunExecuted();

}  // namespace tessera::limiter
