// SPDX-License-Identifier: Apache-2.0
// For tests: what was said on standard error.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <functional>
#include <string>

namespace tessera::limiter {

inline const std::string kPrefix = "tessera-vgpu[" + std::to_string(getpid()) + "]: ";

// What was said, without what each line begins with.
inline std::string Said(const std::function<void()>& speak) {
  testing::internal::CaptureStderr();
  speak();
  std::string text = testing::internal::GetCapturedStderr();
  for (size_t at = text.find(kPrefix); at != std::string::npos; at = text.find(kPrefix)) {
    text.erase(at, kPrefix.size());
  }
  return text;
}

}  // namespace tessera::limiter
