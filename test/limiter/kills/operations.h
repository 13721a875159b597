// SPDX-License-Identifier: Apache-2.0
// What programs do in the midst of which they are killed. One thread.
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
  uint64_t others = 0;  // bytes that one has which is not killed, beside the survivor
};
std::span<const Operation> Operations();

// A process with a context and a kernel, which it launches then.
void PrepareLaunches();
void Launch(uint64_t ns, unsigned grid = 8);

// The container is as one in which there was nobody yet but the survivor.
void ForgetTheDead();

// What a program does that was executed by another one.
inline constexpr char kExecuted[] = "executed";
void RunExecuted();

}  // namespace tessera::limiter
