// SPDX-License-Identifier: Apache-2.0
// What there is to be said of a process's limits. Any thread.
#pragma once

#include <cstdint>

#include "limiter/accounting/file.h"
#include "limiter/limits/limits.h"

namespace tessera::limiter {

// Once, when it is decided what holds for this process: what limits were found and where, what was
// not understood, and why the container's accounting is not shared, if so.
void ReportLimits(const Limits& limits, Trouble trouble, int slot);

// Memory was refused: so many bytes, while `used` of `limit` are held.
void ReportDenial(const Limits& limits, const char* uuid, uint64_t bytes, uint64_t used,
                  uint64_t limit);
// The device had no room for what the container may have: so many bytes are managed memory.
void ReportManaged(const Limits& limits, const char* uuid, uint64_t bytes, uint64_t used,
                   uint64_t limit);

}  // namespace tessera::limiter
