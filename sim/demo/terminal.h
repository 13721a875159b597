// SPDX-License-Identifier: Apache-2.0
// The terminal the demo is watched in: standard output, taken over while this lives. One thread.
#pragma once

#include <termios.h>

#include <optional>

#include "sim/demo/frame.h"

namespace tessera::demo {

// Whether a live view can be shown: a terminal on standard output that can move its cursor.
bool CanShowLive();
// Whether what is written should be UTF-8, and in colour, by the environment.
bool WantsUnicode();
bool WantsColour();

class Terminal {
 public:
  // Takes the screen: alternate, cursor hidden, keys not echoed. Also given back by a crash.
  Terminal();
  // Gives it back as it was.
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  // The size as it is now.
  Screen CurrentScreen() const;
  // Brings the screen to `frame`; false when nobody can see it any more (the other end is closed).
  bool Show(Frame frame);
  // The screen is not what it was (a new size, or another program's output): all is drawn next.
  void Forget() { shown_.clear(); }
  // Leaves the screen for a while, to be stopped by the shell, and comes back.
  void Suspend();
  void Resume();

 private:
  void SilenceKeys();

  const bool unicode_;
  const bool colour_;
  Frame shown_;
  std::optional<termios> keys_;  // as they were
};

// Writes all of it to standard output; false when that is closed.
bool WriteOut(std::string_view text);

}  // namespace tessera::demo
