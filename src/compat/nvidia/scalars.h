// SPDX-License-Identifier: Apache-2.0
// Reads single values as NVIDIA's device plugin does: by YAML 1.1, Go's JSON, and its own rules for
// names and devices. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "config/schema/scalar.h"
#include "config/schema/yaml.h"

namespace tessera::config::nvidia {

// A scalar's type in YAML 1.1. Quotes make every scalar text.
enum class ScalarType : uint8_t { kText, kBool, kNumber };
ScalarType TypeOf(const Node& scalar);

// The value of a plain scalar: y, yes, on, true, n, no, off or false, each in three spellings.
std::optional<bool> Truth(std::string_view text);
// The value of a switch in Go: 1, t, T, TRUE, true or True, and the same for false.
std::optional<bool> SwitchValue(std::string_view text);
// "12", "0x1F", "0b11", "017", "0o17", "1_000", with a sign. Null: no number, or too large.
std::optional<int64_t> WholeNumber(std::string_view text);
// Also "4.0" or "4e0", as Go accepts a float without a fraction.
std::optional<int64_t> WholeNumberOrFloat(std::string_view text);

// A resource's name with its prefix: "gpu" and "nvidia.com/gpu" both give "nvidia.com/gpu".
Parsed<std::string> ReadResourceName(std::string_view text);
// Whether the text names a device: "0", "0:1", "GPU-<uuid>", "MIG-<uuid>",
// "MIG-GPU-<uuid>/<gi>/<ci>".
bool IsDeviceReference(std::string_view text);
// A time in Go's form, such as "1h30m" or "5s"; "infinite" is the longest time. Null: not a time.
std::optional<Duration> SleepInterval(std::string_view text);
inline constexpr char kInterval[] = "a time such as 60s or 1h30m, or 'infinite'";  // for messages

// For messages: "a list", "the text 'yes'", "'8'".
std::string Described(const Node& node);

}  // namespace tessera::config::nvidia
