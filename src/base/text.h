// SPDX-License-Identifier: Apache-2.0
// Text functions that several folders need. Pure. Any thread.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"

namespace tessera {

// Orders text with numbers by value: "2" before "10", "npu2" before "npu10". A strict weak order.
struct NaturalLess {
  using is_transparent = void;
  bool operator()(std::string_view a, std::string_view b) const;
};

std::string Join(std::span<const std::string> parts, std::string_view separator);
std::vector<std::string> Split(std::string_view text, char separator);
std::string_view Trim(std::string_view text);
// The last part of a path, or the path itself if it has one part.
std::string_view FileName(std::string_view path);

// The width in columns: one for each code point.
size_t Width(std::string_view text);
// Breaks a text at spaces into lines of at most `columns`. A longer word stays whole, and existing
// line ends are kept.
std::vector<std::string> Wrap(std::string_view text, size_t columns);

// The candidate closest to `word`, if within a third of the word's length in edits, at least one. A
// swap of neighbours ("lgo" for "log") is one edit.
std::optional<std::string> Closest(std::string_view word, std::span<const std::string> candidates);

// "64 devices", "1 device".
std::string Count(size_t n, std::string_view noun);

// A time span: "250ms", "10s", "5m", "2h". An integer with one unit.
std::optional<Duration> ParseDuration(std::string_view text);
std::string FormatDuration(Duration duration);
// A measured time for people: "250 ms", "6.0 s", "2 min 5 s", "3 h".
std::string MeasuredText(Duration duration);

// "2026-11-20T18:00:00.123Z".
std::string FormatTime(Wall time);

// Whether kubelet accepts `name` as an extended resource (Kubernetes' IsExtendedResourceName):
// vendor.domain/name, not below kubernetes.io.
bool IsExtendedResourceName(std::string_view name);

}  // namespace tessera
