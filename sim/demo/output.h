// SPDX-License-Identifier: Apache-2.0
// The output of the show: a live view on a terminal, plain lines, or JSON lines. One thread at a
// time.
#pragma once

#include <memory>
#include <string>

#include "sim/demo/demo.h"
#include "sim/demo/event.h"
#include "sim/demo/picture.h"
#include "sim/demo/tally.h"

namespace tessera::demo {

class Output {
 public:
  virtual ~Output() = default;
  // Happened and Draw return false once the reader is gone.
  virtual bool Happened(const Event& event) = 0;
  virtual bool Draw(const Picture& picture) = 0;
  virtual void Resized() {}
  virtual void Suspend() {}
  virtual void Resume() {}
  // The last call.
  virtual void End(const Summary& summary) = 0;
  // Whether it draws pictures.
  virtual bool live() const { return false; }
};

// By the options and standard output.
std::unique_ptr<Output> MakeOutput(const DemoOptions& options);

}  // namespace tessera::demo
