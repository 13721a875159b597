// SPDX-License-Identifier: Apache-2.0
// The log: one line for each event, on standard error. A line has a short fixed message
// ("registered") and named fields. The text form is `TIME LEVEL message key=value ...`; the JSON
// form is one object. Repeats with the same level, message and fields are limited: three pass in
// ten seconds, then one line counts the dropped ones.
// No call blocks. While one thread writes, others only queue their lines, and the writer writes
// those too. Lines are lost while standard error has no reader. Lines longer than a pipe's atomic
// write (4096 bytes) are cut.
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

// Sets level and form for later lines. The default is info, text.
void Configure(Level level, Format format);
// Sends finished lines, without newline, to `sink` instead of standard error; nullptr restores
// that. Only one thread at a time calls the sink, which must not log. Once SetSink has returned,
// the former sink is not called again.
void SetSink(std::function<void(std::string_view line)> sink);

void Debug(std::string_view message, Fields fields = {});
void Info(std::string_view message, Fields fields = {});
void Warn(std::string_view message, Fields fields = {});
void LogError(std::string_view message, Fields fields = {});
// Adds the fields reason=, error= and advice= from the error.
void Warn(std::string_view message, const Error& error, Fields fields = {});
void LogError(std::string_view message, const Error& error, Fields fields = {});

}  // namespace tessera::log
