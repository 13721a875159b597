// SPDX-License-Identifier: Apache-2.0
// Reports on a process's limits. Any thread.
#pragma once

#include <cstdint>

#include "limiter/accounting/file.h"
#include "limiter/limits/limits.h"

namespace tessera::limiter {

// Once, when the limits are decided: the limits and their source, errors in them, and why the
// container's accounting is not shared, if so.
void ReportLimits(const Limits& limits, Trouble trouble, int slot);

// An allocation of `bytes` was refused, with `used` of `limit` held.
void ReportDenial(const Limits& limits, const char* uuid, uint64_t bytes, uint64_t used,
                  uint64_t limit);
// The device had no room for an allocation within the limit; `bytes` are managed memory.
void ReportManaged(const Limits& limits, const char* uuid, uint64_t bytes, uint64_t used,
                   uint64_t limit);

}  // namespace tessera::limiter
