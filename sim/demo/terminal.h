// SPDX-License-Identifier: Apache-2.0
// The viewer's terminal: standard output, taken over while this object lives. One thread.
#pragma once

#include <termios.h>

#include <optional>

#include "sim/demo/frame.h"

namespace tessera::demo {

// Whether a live view is possible: standard output is a terminal that can move its cursor.
bool CanShowLive();
// Whether output is UTF-8, and in colour, by the environment.
bool WantsUnicode();
bool WantsColour();

class Terminal {
 public:
  // Takes the screen: alternate, cursor hidden, keys not echoed. A crash restores it too.
  Terminal();
  // Restores the screen.
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  // The present size.
  Screen CurrentScreen() const;
  // Changes the screen to `frame`. False: the terminal is closed.
  bool Show(Frame frame);
  // The screen is unknown, after a new size or another program's output: the next Show draws all.
  void Forget() { shown_.clear(); }
  // Suspend leaves the screen so that the shell can stop the program; Resume takes it again.
  void Suspend();
  void Resume();

 private:
  void SilenceKeys();

  const bool unicode_;
  const bool colour_;
  Frame shown_;
  std::optional<termios> keys_;  // the former settings
};

// Writes all of it to standard output. False: that is closed.
bool WriteOut(std::string_view text);

}  // namespace tessera::demo
