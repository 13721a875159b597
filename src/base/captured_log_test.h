// SPDX-License-Identifier: Apache-2.0
// Captures the log, without times, for its lifetime. One at a time. One thread.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "base/log.h"

namespace tessera {

class CapturedLog {
 public:
  CapturedLog() {
    log::SetSink([this](std::string_view line) {
      text_ += std::string(line.substr(line.find(' ') + 1)) + "\n";
    });
  }
  ~CapturedLog() { log::SetSink(nullptr); }
  CapturedLog(const CapturedLog&) = delete;
  CapturedLog& operator=(const CapturedLog&) = delete;

  const std::string& text() const { return text_; }
  std::string Take() { return std::exchange(text_, ""); }

 private:
  std::string text_;
};

}  // namespace tessera
