// SPDX-License-Identifier: Apache-2.0
// Logs refusals. kubelet retries again and again, so each cause is logged once in half an hour.
// Owned by the code that refuses. Any thread.
#pragma once

#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/repeats.h"

namespace tessera {

class Refusals {
 public:
  static constexpr Duration kSpan{30 * 60'000};
  // With more causes than this, each further reason is logged once.
  static constexpr size_t kCauses = 512;

  explicit Refusals(const Clock& clock = SystemClock()) : clock_(clock) {}

  // Logs a warning. `whose` tells causes of one reason apart: the container, or the text if the
  // container is unknown.
  void LogRefusal(std::string_view message, const Error& error, const std::string& whose,
                  log::Fields fields);

 private:
  bool IsNew(const Error& error, const std::string& whose);

  const Clock& clock_;
  Mutex mutex_;
  log::Repeats told_ TESSERA_GUARDED_BY(mutex_){{.passed = 1, .span = kSpan}};
};

}  // namespace tessera
