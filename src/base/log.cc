// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <climits>
#include <cstdio>
#include <deque>
#include <span>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/quote.h"
#include "base/repeats.h"
#include "base/text.h"

namespace tessera::log {
namespace {

std::string_view LevelName(Level level, Format format) {
  constexpr std::string_view kText[] = {"DEBUG", "INFO", "WARN", "ERROR", "OFF"};
  constexpr std::string_view kJson[] = {"debug", "info", "warn", "error", "off"};
  const auto index = static_cast<size_t>(level);
  return format == Format::kJson ? kJson[index] : kText[index];
}

// A value after "key=", without quotes if it cannot be misread.
void AppendValue(std::string& body, std::string_view value) {
  const bool bare = !value.empty() && std::all_of(value.begin(), value.end(), [](char c) {
    return c > ' ' && c < 0x7F && c != '"' && c != '=' && c != '\\';
  });
  if (bare) {
    body += value;
  } else {
    body += Quote(value);
  }
}

// The line without time and level. Two lines are repeats if it is equal.
std::string Body(Format format, std::string_view message, std::span<const Field> fields) {
  const bool json = format == Format::kJson;
  std::string body = json ? "\"message\":" + Quote(message) : std::string(message);
  for (const Field& field : fields) {
    if (json) {
      body += fmt::format(",{}:{}", Quote(field.key), Quote(field.value));
    } else {
      body += ' ';
      body += field.key;
      body += '=';
      AppendValue(body, field.value);
    }
  }
  return body;
}

// The size of a pipe's atomic write. A writable pipe has room for this much.
constexpr size_t kLongestPiece = PIPE_BUF;

// Queued lines beyond this number are dropped.
constexpr size_t kMostWaiting = 1024;

// Never blocks: a stuck reader must cost lines, not answers to kubelet.
void WriteToStandardError(std::string_view text) {
  pollfd standard_error{.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
  if (poll(&standard_error, 1, 0) != 1 || (standard_error.revents & POLLOUT) == 0) return;
  // One write call, so that lines of two processes on one terminal do not mix.
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text.data(), text.size());
}

// Removes whole lines from the front of `lines`, up to one atomic write, each with a newline. A
// longer line is cut.
std::string TakePiece(std::deque<std::string>& lines) {
  std::string piece;
  while (!lines.empty() &&
         (piece.empty() || piece.size() + lines.front().size() + 1 <= kLongestPiece)) {
    piece += std::string_view(lines.front()).substr(0, kLongestPiece - 1);
    piece += '\n';
    lines.pop_front();
  }
  return piece;
}

// The complete line.
std::string Line(Format format, Level level, std::string_view body) {
  const std::string time = FormatTime(SystemClock().WallNow());
  const std::string_view name = LevelName(level, format);
  return format == Format::kJson
             ? fmt::format(R"({{"time":"{}","level":"{}",{}}})", time, name, body)
             : fmt::format("{} {} {}", time, name, body);
}

// The thread that finds no writer becomes the writer until the queue is empty. Other threads only
// add lines, so a thread that answers kubelet never waits for another's system call.
class Log {
 public:
  using Sink = std::function<void(std::string_view)>;

  void Configure(Level level, Format format) {
    level_ = level;
    format_ = format;
  }

  void SetSink(Sink sink) {
    MutexLock lock(mutex_);
    idle_.wait(lock, [this]() TESSERA_REQUIRES(mutex_) { return !writing_; });
    sink_ = std::move(sink);
    repeats_ = Repeats();  // a new sink has seen none of the former repeats
  }

  void Write(Level level, std::string_view message, std::span<const Field> fields) {
    if (level < level_.load(std::memory_order_relaxed)) return;
    const Format format = format_.load(std::memory_order_relaxed);
    const std::string body = Body(format, message, fields);
    MutexLock lock(mutex_);
    const Steady now = SystemClock().Now();
    for (const Repeats::Dropped& dropped : repeats_.Ended(now)) {
      const std::string_view count =
          format == Format::kJson ? ",\"dropped\":\"{}\"" : " dropped={}";
      Leave(Line(format, static_cast<Level>(dropped.level),
                 dropped.line + fmt::format(fmt::runtime(count), dropped.count)));
    }
    if (repeats_.Passes(static_cast<int>(level), body, now)) Leave(Line(format, level, body));
    if (writing_ || waiting_.empty()) return;
    writing_ = true;
    const Sink sink = sink_;
    while (!waiting_.empty()) {
      std::deque<std::string> lines = std::exchange(waiting_, {});
      lock.unlock();
      WriteOut(std::move(lines), sink);
      lock.lock();
    }
    writing_ = false;
    idle_.notify_all();
  }

 private:
  void Leave(std::string line) TESSERA_REQUIRES(mutex_) {
    if (waiting_.size() < kMostWaiting) waiting_.push_back(std::move(line));
  }

  // Called by one thread at a time, without the lock.
  static void WriteOut(std::deque<std::string> lines, const Sink& sink) {
    if (sink) {
      for (const std::string& line : lines) sink(line);
    } else {
      while (!lines.empty()) WriteToStandardError(TakePiece(lines));
    }
  }

  std::atomic<Level> level_ = Level::kInfo;
  std::atomic<Format> format_ = Format::kText;

  Mutex mutex_;
  ConditionVariable idle_;  // `writing_` became false
  bool writing_ TESSERA_GUARDED_BY(mutex_) = false;
  // Lines to write, oldest first.
  std::deque<std::string> waiting_ TESSERA_GUARDED_BY(mutex_);
  Sink sink_ TESSERA_GUARDED_BY(mutex_);  // changes only while no thread writes
  Repeats repeats_ TESSERA_GUARDED_BY(mutex_);
};

// Never destroyed, because threads may log until the process ends.
Log& TheLog() {
  static Log& log = *new Log;
  return log;
}

void WriteError(Level level, std::string_view message, const Error& error, Fields fields) {
  std::vector<Field> all(fields);
  all.emplace_back("reason", ReasonName(error.reason));
  all.emplace_back("error", error.message);
  all.emplace_back("advice", ReasonAdvice(error.reason));
  TheLog().Write(level, message, all);
}

}  // namespace

void Configure(Level level, Format format) {
  TheLog().Configure(level, format);
}
void SetSink(std::function<void(std::string_view line)> sink) {
  TheLog().SetSink(std::move(sink));
}

void Debug(std::string_view message, Fields fields) {
  TheLog().Write(Level::kDebug, message, {fields.begin(), fields.size()});
}
void Info(std::string_view message, Fields fields) {
  TheLog().Write(Level::kInfo, message, {fields.begin(), fields.size()});
}
void Warn(std::string_view message, Fields fields) {
  TheLog().Write(Level::kWarn, message, {fields.begin(), fields.size()});
}
void LogError(std::string_view message, Fields fields) {
  TheLog().Write(Level::kError, message, {fields.begin(), fields.size()});
}
void Warn(std::string_view message, const Error& error, Fields fields) {
  WriteError(Level::kWarn, message, error, fields);
}
void LogError(std::string_view message, const Error& error, Fields fields) {
  WriteError(Level::kError, message, error, fields);
}

}  // namespace tessera::log
