// SPDX-License-Identifier: Apache-2.0
#include "binding/refusals.h"

#include <fmt/core.h>

#include "base/hash.h"

namespace tessera {

void Refusals::LogRefusal(std::string_view message, const Error& error, const std::string& whose,
                          log::Fields fields) {
  if (IsNew(error, whose)) log::Warn(message, error, fields);
}

bool Refusals::IsNew(const Error& error, const std::string& whose) {
  const std::string reason(ReasonName(error.reason));
  // Stores a hash, because a text may be long and is kept for half an hour.
  const std::string cause = fmt::format("{} {:016x}", reason, Fnv1a(whose));
  const MutexLock lock(mutex_);
  const Steady now = clock_.Now();
  (void)told_.Ended(now);
  return told_.Passes(0, told_.size() < kCauses ? cause : reason, now);
}

}  // namespace tessera
