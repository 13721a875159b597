// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <poll.h>
#include <unistd.h>
#include <algorithm>

#include <atomic>
#include <climits>
#include <cstdio>
#include <mutex>
#include <utility>
#include <vector>

#include "base/clock.h"
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

// A value as it stands behind "key=": bare when it cannot be misread.
std::string TextValue(std::string_view value) {
  const bool bare = !value.empty() && std::all_of(value.begin(), value.end(), [](char c) {
    return c > ' ' && c < 0x7F && c != '"' && c != '=' && c != '\\';
  });
  return bare ? std::string(value) : Quote(value);
}

// The line without time and level: what makes two lines the same.
std::string Body(Format format, std::string_view message, const std::vector<Field>& fields) {
  const bool json = format == Format::kJson;
  std::string body = json ? "\"message\":" + Quote(message) : std::string(message);
  for (const Field& field : fields) {
    if (json) {
      body += fmt::format(",{}:{}", Quote(field.key), Quote(field.value));
    } else {
      body += fmt::format(" {}={}", field.key, TextValue(field.value));
    }
  }
  return body;
}

// What a pipe takes in one piece; a pipe that is writable at all has room for so much.
constexpr size_t kLongestLine = PIPE_BUF;

// Never waits: a reader that does not read costs lines, not answers to kubelet.
void WriteToStandardError(std::string_view line) {
  pollfd standard_error{.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
  if (poll(&standard_error, 1, 0) != 1 || (standard_error.revents & POLLOUT) == 0) return;
  std::string text(line.substr(0, kLongestLine - 1));
  text += '\n';
  // One call, so that the lines of two processes on one terminal do not mix.
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text.data(), text.size());
}

class Log {
 public:
  void Configure(Level level, Format format) {
    const std::lock_guard lock(mutex_);
    level_ = level;
    format_ = format;
  }

  void SetSink(std::function<void(std::string_view)> sink) {
    const std::lock_guard lock(mutex_);
    sink_ = std::move(sink);
    repeats_ = Repeats();  // what another reader saw says nothing about this one
  }

  void Write(Level level, std::string_view message, const std::vector<Field>& fields) {
    if (level < level_.load(std::memory_order_relaxed)) return;
    const std::lock_guard lock(mutex_);
    const Steady now = SystemClock().Now();
    for (const Repeats::Dropped& dropped : repeats_.Ended(now)) {
      const std::string_view count =
          format_ == Format::kJson ? ",\"dropped\":\"{}\"" : " dropped={}";
      Emit(static_cast<Level>(dropped.level),
           dropped.line + fmt::format(fmt::runtime(count), dropped.count));
    }
    const std::string body = Body(format_, message, fields);
    if (repeats_.Passes(static_cast<int>(level), body, now)) Emit(level, body);
  }

 private:
  void Emit(Level level, std::string_view body) {
    const std::string time = FormatTime(SystemClock().WallNow());
    const std::string_view name = LevelName(level, format_);
    const std::string line =
        format_ == Format::kJson
            ? fmt::format(R"({{"time":"{}","level":"{}",{}}})", time, name, body)
            : fmt::format("{} {} {}", time, name, body);
    if (sink_) {
      sink_(line);
    } else {
      WriteToStandardError(line);
    }
  }

  std::mutex mutex_;
  std::atomic<Level> level_ = Level::kInfo;
  Format format_ = Format::kText;
  std::function<void(std::string_view)> sink_;
  Repeats repeats_;
};

// Never destroyed: threads may log until the process is gone.
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
  TheLog().Write(Level::kDebug, message, fields);
}
void Info(std::string_view message, Fields fields) {
  TheLog().Write(Level::kInfo, message, fields);
}
void Warn(std::string_view message, Fields fields) {
  TheLog().Write(Level::kWarn, message, fields);
}
void LogError(std::string_view message, Fields fields) {
  TheLog().Write(Level::kError, message, fields);
}
void Warn(std::string_view message, const Error& error, Fields fields) {
  WriteError(Level::kWarn, message, error, fields);
}
void LogError(std::string_view message, const Error& error, Fields fields) {
  WriteError(Level::kError, message, error, fields);
}

}  // namespace tessera::log
