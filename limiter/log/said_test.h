// SPDX-License-Identifier: Apache-2.0
// For tests: captures standard error.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <functional>
#include <string>

namespace tessera::limiter {

// The prefix of each line of this process.
inline std::string Prefix() {
  return "tessera-vgpu[" + std::to_string(getpid()) + "]: ";
}

// The captured lines without their prefix.
inline std::string Said(const std::function<void()>& speak) {
  testing::internal::CaptureStderr();
  speak();
  std::string text = testing::internal::GetCapturedStderr();
  const std::string prefix = Prefix();
  for (size_t at = text.find(prefix); at != std::string::npos; at = text.find(prefix)) {
    text.erase(at, prefix.size());
  }
  return text;
}

}  // namespace tessera::limiter
