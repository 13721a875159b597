// SPDX-License-Identifier: Apache-2.0
// Tells the log of what was refused to kubelet, which tries again and again: once in half an hour a
// cause. Any thread; waits for nothing.
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
  // Beyond so many causes at a time one of each further reason is told.
  static constexpr size_t kCauses = 512;

  explicit Refusals(const Clock& clock = SystemClock()) : clock_(clock) {}

  // A warning. `whose`: what makes causes of one reason two, such as the container, or the text
  // where nobody knows the container.
  void LogRefusal(std::string_view message, const Error& error, const std::string& whose,
                  log::Fields fields);

 private:
  bool IsNew(const Error& error, const std::string& whose);

  const Clock& clock_;
  Mutex mutex_;
  log::Repeats told_ TESSERA_GUARDED_BY(mutex_){{.passed = 1, .span = kSpan}};
};

}  // namespace tessera
