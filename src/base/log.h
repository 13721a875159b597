// SPDX-License-Identifier: Apache-2.0
// The log: one line an event, on standard error. A line is a short fixed message ("registered") and
// named fields; in text form `TIME LEVEL message key=value ...`, in JSON form one object.
// Repeats of the same level and message with the same fields are held back: the first three in ten
// seconds pass, then one line says how many were dropped. Nobody waits: a line that comes while
// another thread writes is written by that thread; while nobody reads standard error, lines are
// lost; lines longer than a pipe takes in one piece (4096 bytes) are cut.
// Any thread.
#pragma once

#include <fmt/core.h>

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/error.h"

namespace tessera::log {

enum class Level : uint8_t { kDebug, kInfo, kWarn, kError, kOff };
enum class Format : uint8_t { kText, kJson };

struct Field {
  template <class T>
  Field(std::string_view name, const T& content) : key(name) {
    if constexpr (std::is_convertible_v<const T&, std::string_view>) {
      value = std::string_view(content);
    } else {
      value = fmt::format("{}", content);
    }
  }
  std::string_view key;
  std::string value;
};
using Fields = std::initializer_list<Field>;

// Level and form from here on; the default is info, text.
void Configure(Level level, Format format);
// Sends finished lines (without newline) to `sink` instead of standard error; nullptr goes back.
// The sink is called by one thread at a time and must not log; once SetSink has returned, the
// former one is not called any more.
void SetSink(std::function<void(std::string_view line)> sink);

void Debug(std::string_view message, Fields fields = {});
void Info(std::string_view message, Fields fields = {});
void Warn(std::string_view message, Fields fields = {});
void LogError(std::string_view message, Fields fields = {});
// A warning that carries an error: fields plus reason=, error= and advice=.
void Warn(std::string_view message, const Error& error, Fields fields = {});
void LogError(std::string_view message, const Error& error, Fields fields = {});

}  // namespace tessera::log
