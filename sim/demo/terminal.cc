// SPDX-License-Identifier: Apache-2.0
#include "sim/demo/terminal.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <string>
#include <string_view>

#include "sim/demo/ansi.h"

namespace tessera::demo {
namespace {

constexpr std::array kCrashSignals = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL};

std::string_view Environment(const char* name) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody sets the environment
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

// A crash must not leave the terminal with a hidden cursor. Calls only write and raise, which are
// async-signal-safe. The handler is one-shot, so raise ends the program as the crash would have.
void LeaveAndCrash(int signal) {
  const ssize_t ignored = write(STDOUT_FILENO, kLeaveScreen.data(), kLeaveScreen.size());
  static_cast<void>(ignored);
  raise(signal);
}

void CatchCrashes(void (*handler)(int)) {
  for (int signal : kCrashSignals) {
    struct sigaction action = {};
    action.sa_handler = handler;
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    sigaction(signal, &action, nullptr);
  }
}

}  // namespace

bool CanShowLive() {
  const std::string_view term = Environment("TERM");
  return isatty(STDOUT_FILENO) == 1 && !term.empty() && term != "dumb";
}

bool WantsUnicode() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::string_view value = Environment(name);
    if (value.empty()) continue;
    for (std::string_view form : {"UTF-8", "utf-8", "UTF8", "utf8"}) {
      if (value.find(form) != std::string_view::npos) return true;
    }
    return false;
  }
  return false;
}

bool WantsColour() {
  return Environment("NO_COLOR").empty();
}

Terminal::Terminal() : unicode_(WantsUnicode()), colour_(WantsColour()) {
  termios keys;
  if (isatty(STDIN_FILENO) == 1 && tcgetattr(STDIN_FILENO, &keys) == 0) keys_ = keys;
  CatchCrashes(LeaveAndCrash);
  Resume();
}

Terminal::~Terminal() {
  Suspend();
  CatchCrashes(SIG_DFL);
}

Screen Terminal::CurrentScreen() const {
  Screen screen{.unicode = unicode_};
  winsize size = {};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0) {
    screen.columns = size.ws_col;
    screen.rows = size.ws_row;
  }
  return screen;
}

bool Terminal::Show(Frame frame) {
  const std::string change = Difference(shown_, frame, colour_);
  shown_ = std::move(frame);
  return change.empty() || WriteOut(change);
}

void Terminal::Suspend() {
  WriteOut(kLeaveScreen);
  if (keys_) tcsetattr(STDIN_FILENO, TCSANOW, &*keys_);
}

void Terminal::Resume() {
  SilenceKeys();
  WriteOut(kEnterScreen);
  Forget();
}

void Terminal::SilenceKeys() {
  if (!keys_) return;
  termios silent = *keys_;
  silent.c_lflag &= ~static_cast<tcflag_t>(ECHO | ICANON);
  // Fails with EIO, or stops the program, only in the background, where there is no keyboard.
  tcsetattr(STDIN_FILENO, TCSANOW, &silent);
}

bool WriteOut(std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = write(STDOUT_FILENO, text.data(), text.size());
    if (n > 0) {
      text.remove_prefix(static_cast<size_t>(n));
    } else if (n < 0 && errno == EAGAIN) {
      pollfd writable = {STDOUT_FILENO, POLLOUT, 0};
      poll(&writable, 1, 1'000);
    } else if (n < 0 && errno != EINTR) {
      return false;
    }
  }
  return true;
}

}  // namespace tessera::demo
