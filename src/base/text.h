// SPDX-License-Identifier: Apache-2.0
// Small text functions that more than one folder needs. Pure; any thread.
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
// The last part of a path; the path itself where it has one part.
std::string_view FileName(std::string_view path);

// How many columns a text takes: one for every character, whatever its bytes.
size_t Width(std::string_view text);
// The lines of a text broken at spaces so that none is wider than `columns` (a longer word stays
// whole). Line ends in the text stay.
std::vector<std::string> Wrap(std::string_view text, size_t columns);

// The candidate nearest to `word`, if it is near enough to be meant: a third of the word's length
// in edits, at least one. Swapped neighbours ("lgo" for "log") are one edit.
std::optional<std::string> Closest(std::string_view word, std::span<const std::string> candidates);

// "64 devices", "1 device".
std::string Count(size_t n, std::string_view noun);

// A time span as people write it: "250ms", "10s", "5m", "2h"; whole numbers with one unit.
std::optional<Duration> ParseDuration(std::string_view text);
std::string FormatDuration(Duration duration);
// A measured one, for people: "250 ms", "6.0 s", "2 min 5 s", "3 h".
std::string MeasuredText(Duration duration);

// "2026-11-20T18:00:00.123Z".
std::string FormatTime(Wall time);

// Whether `name` is an extended resource name that kubelet accepts (IsExtendedResourceName of
// Kubernetes): vendor.domain/name, not below kubernetes.io.
bool IsExtendedResourceName(std::string_view name);

}  // namespace tessera
