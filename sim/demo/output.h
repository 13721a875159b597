// SPDX-License-Identifier: Apache-2.0
// Where the show appears: a live view on a terminal, plain lines, or JSON lines. Used from one
// thread at a time.
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
  // Both are false when nobody reads any more.
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

// As the options and standard output ask for.
std::unique_ptr<Output> MakeOutput(const DemoOptions& options);

}  // namespace tessera::demo
