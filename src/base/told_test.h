// SPDX-License-Identifier: Apache-2.0
// What the log says while this lives, without the times. One at a time; one thread.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "base/log.h"

namespace tessera {

class Told {
 public:
  Told() {
    log::SetSink([this](std::string_view line) {
      text_ += std::string(line.substr(line.find(' ') + 1)) + "\n";
    });
  }
  ~Told() { log::SetSink(nullptr); }
  Told(const Told&) = delete;
  Told& operator=(const Told&) = delete;

  const std::string& text() const { return text_; }
  std::string Take() { return std::exchange(text_, ""); }

 private:
  std::string text_;
};

}  // namespace tessera
